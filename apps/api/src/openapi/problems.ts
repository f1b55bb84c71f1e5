import { FIELDS_PARAMETER, PROBLEM_TYPES, type ProblemSlug } from '#platform/http';
import type { OperationEntry, Schema } from './document.js';

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
    kind: { type: 'string', enum: ['campaign', 'automation', 'segment', 'template', 'topic', 'project'] },
    key: text('`campaignKey`, `automationKey`, `segmentKey`, `templateKey` or the key of the project.'),
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
    recipients: {
      type: 'object',
      description:
        'With `suppressed`, `not-subscribed` and `rate-limited` of a message: path of the recipient (`cc[1]`) → why.',
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
    field: {
      type: 'string',
      description:
        'With `already-exists` of a subscriber or template: the field that another one has, `externalId` or `alias`; absent for an address.',
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

/** Every operation refuses unknown query parameters. */
const ALWAYS: readonly ProblemSlug[] = [
  'validation-error',
  'unauthorized',
  'network-not-allowed',
  'rate-limited',
  'internal-error',
  'unavailable',
];
const WITH_BODY: readonly ProblemSlug[] = ['malformed-json', 'payload-too-large', 'unsupported-media-type'];
const WITH_IDEMPOTENCY: readonly ProblemSlug[] = ['idempotency-in-flight', 'idempotency-key-reused'];

/** Requests, as `post /api/v1/topics`, that problems of the domain can answer; those without a line here can answer any. */
const REQUESTS_OF: Readonly<Partial<Record<ProblemSlug, RegExp>>> = {
  'already-exists':
    /^post .*\/(?:subscribers|consents|executions|templates|templates\/[^/]+\/duplicate|tenants|projects)$|^(?:patch|put) .*\/(?:subscribers|templates)\/|^(?:post|patch) .*\/sending-domain$/,
  'in-use':
    /^(?:patch|delete) .*\/(?:topics|segments|custom-fields|sending-domain|media)\b|^delete .*\/templates\//,
  'invalid-state':
    /\/(?:campaigns|campaign-reports|automations|custom-fields|sending-domain)\b|\/resend$|\/messages(?:\/batch)?$|\/messages\/\{|\/rotate$|\/webhook-endpoints\/.*replay$|\/subscription\b|\/invoices\/|\/sending-domains\/|\/resume-sending$/,
  'last-managing-key': /^delete .*\/api-keys\//,
  'pre-send-rejected': /\/campaigns\/.*\/(?:preview|test|schedule|send|resume|retry-failed)$/,
  'schedule-missing': /\/schedule$/,
  suppressed: /^post .*\/(?:subscribers|consents|resend|messages)$|^(?:put|patch) .*\/subscribers\/[^/]+$/,
  'not-subscribed': /^post .*\/messages$/,
  unsubscribed: /^put .*\/subscribers\//,
};

/** The problem types that an operation can answer with: those that its shape implies and those that it declares. */
export function problemSlugs(path: string, method: string, operation: OperationEntry): ProblemSlug[] {
  const { parameters = [], requestBody, responses } = operation;
  const slugs = new Set<ProblemSlug>(ALWAYS);
  const add = (more: readonly ProblemSlug[]): void => more.forEach((slug) => slugs.add(slug));
  if (typeof operation['x-required-scope'] === 'string') add(['insufficient-scope']);
  if (Object.values(responses).some(({ content }) => content !== undefined)) add(['not-acceptable']);
  if (requestBody !== undefined) add([...WITH_BODY, 'domain-validation']);
  if (parameters.some(({ name }) => name === FIELDS_PARAMETER.name)) add(['domain-validation']);
  // A POST or DELETE without a body may be sent one all the same.
  if (method === 'post' || method === 'delete') add(WITH_BODY);
  if (method === 'post') add(WITH_IDEMPOTENCY);
  if (path.includes('{')) add(['not-found']);
  for (const status of operation['x-problems'] ?? []) add(slugsOf(status, parameters.some(isConfirmation)));
  const isOfThis = (slug: ProblemSlug): boolean => REQUESTS_OF[slug]?.test(`${method} ${path}`) ?? true;
  return [...slugs]
    .filter(isOfThis)
    .sort((one, other) => PROBLEM_TYPES[one].status - PROBLEM_TYPES[other].status);
}

/** All domain problems of a status, without those of idempotency keys, which only POST can have. */
function slugsOf(status: number, asksForConfirmation: boolean): ProblemSlug[] {
  return (Object.keys(PROBLEM_TYPES) as ProblemSlug[]).filter((slug) => {
    if (slug === 'malformed-json' || slug.startsWith('idempotency-')) return false;
    if (slug === 'confirmation-required' && !asksForConfirmation) return false;
    return PROBLEM_TYPES[slug].status === status;
  });
}

function isConfirmation({ in: place, name }: { readonly in: string; readonly name: string }): boolean {
  return place === 'header' && name.toLowerCase().startsWith('x-confirm-');
}

type Members = Readonly<Record<string, unknown>>;

/** Members of problems that are the same for every operation. */
const MEMBERS: Readonly<Partial<Record<ProblemSlug, Members>>> = {
  'validation-error': { errors: { pages: 'is not a known field' } },
  'in-use': { usedBy: [{ kind: 'campaign', key: 'APIT-001', name: 'Spring 2026' }], usedByCount: 1 },
  'not-subscribed': { recipients: { to: 'is not subscribed to NEWS-1' } },
  'pre-send-rejected': {
    checks: [
      {
        code: 'recipients',
        severity: 'CRITICAL',
        result: 'FAIL',
        message: 'Nobody would receive this campaign.',
      },
    ],
  },
};

const SIGN_UP_ERRORS = { 'topicKeys[0]': 'is not a topic of this project' };

/** Members of problems by what the operation is about: the first part of its path. */
const MEMBERS_OF: Readonly<Record<string, Readonly<Partial<Record<ProblemSlug, Members>>>>> = {
  project: {
    'validation-error': { errors: { 'brand.color': 'must be a colour such as #1a73e8' } },
    'domain-validation': { errors: { trackingHost: 'is the tracking host of another project' } },
  },
  topics: { 'validation-error': { errors: { name: 'is required' } } },
  subscribers: {
    'validation-error': {
      errors: { email: 'is required', 'consent.source': 'must be at most 100 characters' },
    },
    'domain-validation': { errors: SIGN_UP_ERRORS },
    'invalid-state': { currentState: 'SUBSCRIBED', allowedStates: ['PENDING_CONFIRMATION'] },
  },
  'subscriber-imports': {
    'validation-error': { errors: { 'consent.source': 'is required' } },
    'domain-validation': { errors: SIGN_UP_ERRORS },
  },
  'suppression-imports': {
    'validation-error': {
      errors: { reason: 'must be one of GLOBAL_UNSUBSCRIBE, SPAM_COMPLAINT, HARD_BOUNCE, BLOCKED' },
    },
    'domain-validation': {
      errors: {
        'columns[1]': 'is not a known column: Bounce Date; mapping names its field, or null to leave it out',
      },
    },
  },
  'custom-fields': {
    'validation-error': { errors: { options: 'is required for SELECT and MULTI_SELECT' } },
    'domain-validation': { errors: { plan: 'the plan does not include custom fields' } },
    'invalid-state': { currentState: 'ARCHIVED', allowedStates: ['ACTIVE'] },
  },
  segments: {
    'validation-error': { errors: { subscriberIds: 'is required unless emails is given' } },
    'domain-validation': { errors: { rules: 'is required for a DYNAMIC segment' } },
  },
  suppressions: { 'validation-error': { errors: { email: 'is required' } } },
  consents: {
    'validation-error': { errors: { revocations: 'must have at most 1000 items' } },
  },
  'campaign-reports': {
    'validation-error': { errors: { days: 'must be at most 366' } },
    'invalid-state': { currentState: 'DRAFT', allowedStates: ['SENT'] },
  },
  automations: {
    'validation-error': { errors: { name: 'is required' } },
    'domain-validation': { errors: { triggerTopicId: 'is not a known topic' } },
    'invalid-state': { currentState: 'ARCHIVED', allowedStates: ['DRAFT', 'PAUSED'] },
  },
  campaigns: {
    'validation-error': { errors: { scheduledAtLocal: 'must not be given together with scheduledAt' } },
    'domain-validation': { errors: { 'contentJson.blocks[2].url': 'is required' } },
    'invalid-state': { currentState: 'SENT', allowedStates: ['DRAFT', 'SCHEDULED', 'FAILED'] },
  },
  relays: {
    'validation-error': { errors: { host: 'must be a host name or an IP address' } },
    'domain-validation': { errors: { port: 'is required' } },
  },
  'api-keys': {
    'validation-error': {
      errors: { 'allowedNetworks[0]': 'has bits behind its prefix: write 203.0.113.0/24' },
    },
    'domain-validation': { errors: { 'scopes[1]': 'topics:write is no scope of the key that asks' } },
    'invalid-state': { currentState: 'REPLACED', allowedStates: ['ACTIVE'] },
  },
  'webhook-endpoints': {
    'validation-error': { errors: { 'events[1]': 'must be one of the known events' } },
    'domain-validation': {
      errors: {
        url: 'must lead to a public address; its name is unknown, or leads to a private one, which the operator can allow: OUTGOING_PRIVATE_ADDRESSES',
      },
    },
    'invalid-state': { currentState: 'DISABLED', allowedStates: ['ENABLED'] },
  },
  templates: {
    'validation-error': { errors: { kind: 'is required' } },
    'domain-validation': { errors: { subject: 'has {{ data.order.id }}, which variables do not declare' } },
    'already-exists': { field: 'alias' },
    'in-use': { usedBy: [{ kind: 'template', key: 'APIT-2', name: 'Receipt' }], usedByCount: 1 },
  },
  messages: {
    'validation-error': { errors: { purpose: 'is required' } },
    'domain-validation': { errors: { 'data.code': 'is missing: the content shows it' } },
    'invalid-state': { currentState: 'SENT', allowedStates: ['SCHEDULED', 'QUEUED'] },
  },
  media: {
    'validation-error': { errors: { filename: 'must not be empty' } },
    'domain-validation': { errors: { body: 'is 50000 × 50000 pixels: at most 40 megapixels are taken' } },
  },
  'sending-domain': {
    'validation-error': { errors: { domainName: 'is required' } },
    'domain-validation': { errors: { plan: 'the plan does not include a sending domain' } },
    'invalid-state': {
      currentState: 'SUSPENDED',
      allowedStates: ['PENDING_VERIFICATION', 'ACTIVE', 'VERIFICATION_FAILED', 'DEGRADED', 'EXPIRED'],
    },
  },
};

/** The request that a problem answers. */
interface Refused {
  readonly path: string;
  readonly takesFields: boolean;
  readonly hasBody: boolean;
  readonly scope: string | null;
}

export interface ProblemExample {
  /** Name of the component; the same for all requests with the same example. */
  readonly name: string;
  readonly summary: string;
  readonly value: Members;
}

/** A problem as `request` may be answered; `instance` is left out where the example serves several paths. */
export function problemExample(slug: ProblemSlug, request: Refused, publicUrl: string): ProblemExample {
  const { status, title, description } = PROBLEM_TYPES[slug];
  const [name, members] = membersOf(slug, request);
  const value = {
    type: `${publicUrl}/problems/${slug}`,
    title,
    status,
    detail: description,
    timestamp: '2026-03-02T08:00:00.000Z',
    requestId: '019cad8f-ac00-7c1e-9c3e-2f6b8a4d1e90',
    ...members,
  };
  return { name, summary: title, value };
}

function membersOf(
  slug: ProblemSlug,
  { path, takesFields, hasBody, scope }: Refused,
): [name: string, members: Members] {
  if (slug === 'insufficient-scope' && scope !== null)
    return [`${slug}.${scope.replace(':', '.')}`, { requiredScope: scope }];
  if (slug === 'domain-validation' && takesFields)
    return [`${slug}.fields`, { errors: { fields: '"emial" is not a field of the answer' } }];
  const about = path.split('/')[3] ?? '';
  const own = slug === 'validation-error' && !hasBody ? undefined : MEMBERS_OF[about]?.[slug];
  return own === undefined ? [slug, MEMBERS[slug] ?? {}] : [`${slug}.${about}`, own];
}
