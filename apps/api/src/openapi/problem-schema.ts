import type { Schema } from './document.js';

const text = (description: string): Schema => ({ type: 'string', description });

/** What failed, of the checks that a campaign or an automation must pass. */
const CHECK: Schema = {
  type: 'object',
  required: ['code', 'severity', 'result', 'message'],
  properties: {
    code: text('What was looked at; new ones may come.'),
    severity: { type: 'string', enum: ['CRITICAL', 'WARNING', 'INFO'] },
    result: { type: 'string', enum: ['PASS', 'FAIL', 'SKIPPED'] },
    path: text('Of an automation: where it is, such as `nodes[3].config.duration`.'),
    message: text('What was found and, when it failed, what to do.'),
  },
};

/** RFC 9457, with what every problem of ours carries and the members of each type. */
export const PROBLEM: Schema = {
  type: 'object',
  description: 'A problem (RFC 9457). Which members it has depends on `type`.',
  required: ['type', 'title', 'status', 'requestId'],
  properties: {
    type: { type: 'string', format: 'uri', description: 'Identifies the type of problem; a page is there.' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: text('What went wrong this time.'),
    instance: text('The path of the request.'),
    timestamp: { type: 'string', format: 'date-time' },
    errors: {
      type: 'object',
      description:
        'Only with 400 and 422: field path → what is wrong with it. At most 100 fields; `…` then says how many more there are.',
      additionalProperties: { type: 'string' },
    },
    requiredScope: text('With `insufficient-scope`: what the key lacks.'),
    currentState: text('With `invalid-state`: where the resource is.'),
    allowedStates: {
      type: 'array',
      description: 'With `invalid-state`: from where the operation is possible.',
      items: { type: 'string' },
    },
    checks: {
      type: 'array',
      description: 'With `pre-send-rejected`, and `invalid-state` of an automation: what failed.',
      items: CHECK,
    },
    requestId: text('Names the request in our log.'),
  },
};
