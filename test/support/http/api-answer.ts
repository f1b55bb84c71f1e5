/** One answer of the api, with its body read. */
export interface ApiAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The value at a path in the body, unchecked: `answer.at('data', 0, 'email')`; undefined where there is none. */
  at<T = string>(...path: readonly (string | number)[]): T;
  /** The whole body, parsed. */
  readonly body: unknown;
}
