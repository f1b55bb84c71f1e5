import { STATUS_CODES } from 'node:http';
import { newId } from '#kernel';
import { PROBLEM_TYPES } from '../problems/problem-types.js';
import { PROBLEM_MEDIA_TYPE } from '../problems/problem-writer.js';

/** RFC 9110 §15.5.9 and RFC 6585 §5, by the code of Node's error; everything else is a 400. */
const STATUS_OF: Readonly<Record<string, number>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_HEADER_OVERFLOW: 431,
};

/** The whole answer to bytes that are no request of HTTP/1.1, one with too large headers, or one that never ended. */
export function answerToNoRequest(code: string | undefined, publicUrl: string, now: Date): string {
  const status = STATUS_OF[code ?? ''] ?? 400;
  const requestId = newId();
  const body = JSON.stringify({
    ...(status === 400 ? notHttp(publicUrl) : { type: 'about:blank', title: STATUS_CODES[status] }),
    status,
    timestamp: now.toISOString(),
    requestId,
  });
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `content-type: ${PROBLEM_MEDIA_TYPE}`,
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${requestId}`,
    'cache-control: no-store',
    'connection: close',
    '',
    body,
  ].join('\r\n');
}

function notHttp(publicUrl: string): object {
  return {
    type: `${publicUrl}/problems/validation-error`,
    title: PROBLEM_TYPES['validation-error'].title,
    errors: { request: 'is not HTTP/1.1' },
  };
}
