// The linter's rules for the inspector's files. Undefined and unused names are the type checker's.
import js from '@eslint/js';

export default [
  js.configs.recommended,
  {
    languageOptions: { ecmaVersion: 2023, sourceType: 'module' },
    rules: {
      'no-undef': 'off',
      'no-unused-vars': 'off',
      'no-unused-expressions': 'off',
      'no-empty': ['error', { allowEmptyCatch: false }],
      'no-eval': 'error',
      'no-implied-eval': 'error',
      'no-new-func': 'error',
      'no-restricted-properties': [
        'error',
        { property: 'innerHTML', message: 'Stored text is shown as text, never as HTML.' },
        { property: 'outerHTML', message: 'Stored text is shown as text, never as HTML.' },
        { property: 'dangerouslySetInnerHTML', message: 'Stored text is shown as text, never as HTML.' },
      ],
      'prefer-const': 'error',
      eqeqeq: 'error',
      'no-var': 'error',
      'no-shadow': 'off',
      'max-len': ['error', { code: 120, ignoreUrls: false }],
    },
  },
];
