// Requests in a provider's own shape, typed by provider. Written by hand; the types of the API are in api.ts.
import type { Memorist, RenderedRequest } from "./api.ts";
import type { CallOptions } from "./http.ts";

/** What a request is made for: the arguments of `context`, without its format. */
export type RequestFor = Omit<Parameters<Memorist["context"]>[0], "format">;

/** A message of OpenAI's Chat Completions. */
export type OpenAIMessage = {
  role: "system" | "developer" | "user" | "assistant" | "tool";
  content?: string | Record<string, unknown>[] | null;
  name?: string;
  tool_calls?: { id: string; type: "function"; function: { name: string; arguments: string } }[];
  tool_call_id?: string;
};

/** A message of Anthropic's Messages API. */
export type AnthropicMessage = { role: "user" | "assistant"; content: string | Record<string, unknown>[] };

/** What can be sent to a provider: spread `body` into the request, beside `model`. */
export type ProviderRequest<Body> = {
  body: Body;
  tokens: number;
  /** What each section costs, and what was left out and why; only if `manifest` was asked for. */
  manifest: Record<string, unknown> | null;
};

export type OpenAIBody = { messages: OpenAIMessage[]; tools?: Record<string, unknown>[] };
export type AnthropicBody = {
  messages: AnthropicMessage[];
  system?: string | Record<string, unknown>[];
  tools?: Record<string, unknown>[];
};

/** The next request with its memory, as `POST /v1/chat/completions` of OpenAI takes it. */
export async function openaiRequest(
  memory: Memorist, args: RequestFor, options: CallOptions = {},
): Promise<ProviderRequest<OpenAIBody>> {
  const { messages, tools, tokens, manifest } = await rendered(memory, { ...args, format: "openai" }, options);
  const body = { messages: messages as OpenAIMessage[], ...tooled(tools) };
  return { body, tokens, manifest };
}

/** The next request with its memory, as `POST /v1/messages` of Anthropic takes it. */
export async function anthropicRequest(
  memory: Memorist, args: RequestFor, options: CallOptions = {},
): Promise<ProviderRequest<AnthropicBody>> {
  const { messages, system, tools, tokens, manifest } = await rendered(memory, { ...args, format: "anthropic" }, options);
  const instructions = system === null ? {} : { system: system as string | Record<string, unknown>[] };
  const body = { messages: messages as AnthropicMessage[], ...instructions, ...tooled(tools) };
  return { body, tokens, manifest };
}

async function rendered(
  memory: Memorist, args: Parameters<Memorist["context"]>[0], options: CallOptions,
): Promise<RenderedRequest> {
  return (await memory.context(args, options)) as RenderedRequest;
}

// Providers refuse an empty list of tools.
function tooled(tools: unknown[]): { tools?: Record<string, unknown>[] } {
  return tools.length ? { tools: tools as Record<string, unknown>[] } : {};
}
