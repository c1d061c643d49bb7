-- needs: 2
-- The text index over entries. It keeps no text (content = ''): only our own analysed terms, each under the code of its
-- namespace, so that searching one namespace costs the same whatever else is in the file. Places are kept (detail = full):
-- without them bm25() is 0 for every row, and the cut would keep the oldest instead of the best.
CREATE VIRTUAL TABLE entries_text USING fts5 (
  terms, context_terms,
  content = '', contentless_delete = 1, tokenize = 'ascii'
);
CREATE VIRTUAL TABLE entries_terms USING fts5vocab (entries_text, 'col');

-- Whatever deletes an entry takes it out of the index too. Adding is done by the store, which codes the terms.
CREATE TRIGGER entries_text_delete AFTER DELETE ON entries BEGIN
  DELETE FROM entries_text WHERE rowid = old.rowid;
END;
