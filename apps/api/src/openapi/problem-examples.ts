import { PROBLEM_TYPES, type ProblemSlug } from '#platform/http';

type Members = Readonly<Record<string, unknown>>;

/** Members of problems that are the same for every operation. */
const MEMBERS: Readonly<Partial<Record<ProblemSlug, Members>>> = {
  'validation-error': { errors: { pages: 'is not a known field' } },
  'in-use': { usedBy: [{ kind: 'campaign', key: 'APIT-001', name: 'Spring 2026' }], usedByCount: 1 },
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

function membersOf(slug: ProblemSlug, { path, hasBody, scope }: Refused): [name: string, members: Members] {
  if (slug === 'insufficient-scope' && scope !== null)
    return [`${slug}.${scope.replace(':', '.')}`, { requiredScope: scope }];
  const about = path.split('/')[3] ?? '';
  const own = slug === 'validation-error' && !hasBody ? undefined : MEMBERS_OF[about]?.[slug];
  return own === undefined ? [slug, MEMBERS[slug] ?? {}] : [`${slug}.${about}`, own];
}
