import { expect } from '@jest/globals';
import type { ApiAnswer } from './api-client.js';

const COMMON_MEMBERS = ['type', 'title', 'status', 'detail', 'instance', 'timestamp', 'requestId'];
const ISO_MILLISECONDS = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/**
 * Expects the problem `slug` with what every problem has (RFC 9457 and the API's own rules), and returns it.
 * `members` are the ones of this problem alone: nothing else may be in the body.
 */
export function expectProblem(
  answer: ApiAnswer,
  status: number,
  slug: string,
  members: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  const { body, headers } = answer;
  expect([answer.status, (body as { type?: unknown } | undefined)?.type ?? answer.text]).toEqual([
    status,
    expect.stringMatching(new RegExp(`^https?://[^?]+/problems/${slug}$`)),
  ]);
  expect(headers.get('content-type')).toBe('application/problem+json');
  expect(body).toMatchObject({ status, title: expect.stringMatching(/\S/), ...members });
  expect(body).toMatchObject({
    instance: expect.stringMatching(/^\/[^?#]*$/),
    timestamp: expect.stringMatching(ISO_MILLISECONDS),
    requestId: headers.get('x-request-id'),
  });
  const problem = body as Record<string, unknown>;
  const unexpected = Object.keys(problem).filter(
    (name) => !COMMON_MEMBERS.includes(name) && !(name in members),
  );
  expect(unexpected).toEqual([]);
  if ('errors' in problem) expect([400, 422]).toContain(status);
  return problem;
}

/** A problem without what differs from one request to the next. */
export function timelessProblem(text: string): string {
  return text
    .replace(/"instance":"[^"]*"/, '"instance":"…"')
    .replace(/"timestamp":"[^"]*"/, '"timestamp":"…"')
    .replace(/"requestId":"[^"]*"/, '"requestId":"…"');
}
