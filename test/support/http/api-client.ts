import type { ApiAnswer } from './api-answer.js';
import { validateAnswer } from './openapi-validation.js';

export type { ApiAnswer } from './api-answer.js';

export interface ApiRequest {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Refusal of a limit that could not count in time: the client asks again, since nothing was done yet. */
const NOT_COUNTED = /rate limit .* in time/;

/** Speaks to the api as a client program does, and holds every answer against the OpenAPI document. */
export class ApiClient {
  constructor(
    readonly baseUrl: string,
    readonly key: string | null,
    readonly prefix: '/api/v1' | '/operator/v1' = '/api/v1',
  ) {}

  get(path: string, request: ApiRequest = {}): Promise<ApiAnswer> {
    return this.request('GET', path, request);
  }

  post(path: string, body?: unknown, request: ApiRequest = {}): Promise<ApiAnswer> {
    return this.request('POST', path, { ...request, body });
  }

  patch(path: string, body: unknown): Promise<ApiAnswer> {
    return this.request('PATCH', path, { body });
  }

  delete(path: string, request: ApiRequest = {}): Promise<ApiAnswer> {
    return this.request('DELETE', path, request);
  }

  /** `path` is below the prefix. */
  async request(method: string, path: string, request: ApiRequest): Promise<ApiAnswer> {
    const { body, headers = {} } = request;
    const response = await fetch(`${this.baseUrl}${this.prefix}${path}`, {
      method,
      headers: {
        ...(this.key === null ? {} : { 'x-api-key': this.key }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: isWritten(body) ? body : JSON.stringify(body) }),
    });
    const answer = await readAnswer(response);
    await validateAnswer(this.baseUrl, method, `${this.prefix}${path}`, answer);
    const isDone = answer.status !== 503 || !NOT_COUNTED.test(answer.text);
    return isDone ? answer : this.request(method, path, request);
  }
}

function isWritten(body: unknown): body is string | Buffer<ArrayBuffer> {
  return typeof body === 'string' || Buffer.isBuffer(body);
}

/** Reads a response to its end. */
export async function readAnswer(response: Response): Promise<ApiAnswer> {
  const text = await response.text();
  const isJson = /\bjson\b/.test(response.headers.get('content-type') ?? '');
  const body: unknown = isJson && text !== '' ? JSON.parse(text) : undefined;
  return {
    status: response.status,
    headers: response.headers,
    text,
    body,
    at: <T>(...path: readonly (string | number)[]) =>
      path.reduce<unknown>(
        (value, part) => (value as Record<string | number, unknown> | undefined)?.[part],
        body,
      ) as T,
  };
}
