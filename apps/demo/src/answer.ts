/** The answer to a request. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The parsed body; undefined when it is not JSON. */
  readonly json: unknown;
}

export async function readAnswer(response: Response): Promise<Answer> {
  const text = await response.text();
  const isJson = /[/+]json\b/.test(response.headers.get('content-type') ?? '');
  return { status: response.status, headers: response.headers, text, json: isJson ? parse(text) : undefined };
}

/** The value at a dotted path of a JSON body, such as `data.0.links.confirm`; undefined where there is none. */
export function valueAt(answer: Answer, path: string): unknown {
  return path.split('.').reduce<unknown>((value, name) => property(value, name), answer.json);
}

/** The array at a dotted path; empty where there is none. */
export function listAt(answer: Answer, path: string): readonly unknown[] {
  const value = valueAt(answer, path);
  return Array.isArray(value) ? value : [];
}

function property(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
