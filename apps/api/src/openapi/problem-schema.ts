import type { Schema } from './document.js';

const text = (description: string): Schema => ({ type: 'string', description });

/** A check that a campaign or an automation must pass. */
const CHECK: Schema = {
  type: 'object',
  required: ['code', 'severity', 'result', 'message'],
  properties: {
    code: text('The check; new codes may be added.'),
    severity: { type: 'string', enum: ['CRITICAL', 'WARNING', 'INFO'] },
    result: { type: 'string', enum: ['PASS', 'FAIL', 'SKIPPED'] },
    path: text('For automations: the path of the error, such as `nodes[3].config.duration`.'),
    message: text('The result and, when the check failed, what to do.'),
  },
};

/** Users of the resource of a problem `in-use`. */
const USER: Schema = {
  type: 'object',
  required: ['kind', 'key', 'name'],
  properties: {
    kind: { type: 'string', enum: ['campaign', 'automation', 'segment'] },
    key: text('`campaignKey`, `automationKey` or `segmentKey`.'),
    name: { type: 'string' },
  },
};

/** RFC 9457 with the members that all our problems have and those of each type. */
export const PROBLEM: Schema = {
  type: 'object',
  description: 'A problem (RFC 9457). Its members depend on `type`.',
  required: ['type', 'title', 'status', 'requestId'],
  properties: {
    type: {
      type: 'string',
      format: 'uri',
      description: 'Identifies the type of problem, and is the address of a page that explains it.',
    },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: text('What went wrong this time.'),
    instance: text('The path of the request.'),
    timestamp: { type: 'string', format: 'date-time' },
    errors: {
      type: 'object',
      description:
        'Only with 400 and 422: field path → error. At most 100 fields; `…` then says how many more there are.',
      additionalProperties: { type: 'string' },
    },
    requiredScope: text('With `insufficient-scope`: the scope that the key lacks.'),
    currentState: text('With `invalid-state`: the state of the resource.'),
    allowedStates: {
      type: 'array',
      description: 'With `invalid-state`: the states that allow the operation.',
      items: { type: 'string' },
    },
    checks: {
      type: 'array',
      description: 'With `pre-send-rejected`, and `invalid-state` of an automation: the failed checks.',
      items: CHECK,
    },
    usedBy: {
      type: 'array',
      description: 'With `in-use`: what uses the resource, at most 10.',
      items: USER,
    },
    usedByCount: { type: 'integer', description: 'With `in-use`: how many use the resource.' },
    requestId: text('The id of the request in the log.'),
  },
};
