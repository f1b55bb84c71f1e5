import { parseTagList } from './tag-list.js';

const POLICIES = ['none', 'quarantine', 'reject'] as const;
type Policy = (typeof POLICIES)[number];

/** What rules the mail of a host (RFC 9989 §4.7). */
export interface DmarcPolicy {
  /** The domain at which it is published: the host's own, or one above it. */
  readonly publishedAt: string;
  /** What receivers are to do; one step less than what is published where `t=y` only tests it. */
  readonly policy: Policy;
  /** `adkim=s`, `aspf=s`: only the very domain of From aligns. */
  readonly strictDkim: boolean;
  readonly strictSpf: boolean;
  /** `psd=n`: what is above the domain belongs to somebody else, so it aligns with nothing below. */
  readonly standsAlone: boolean;
}

/** Whether DKIM and SPF align with a From below the domain that signs, and what is asked for when neither does. */
export interface DmarcAlignment {
  readonly publishedAt: string;
  readonly policy: Policy;
  readonly dkim: boolean;
  /** Null where the mail returns to a relay's provider, as whom it pleases. */
  readonly spf: boolean | null;
}

/** Whose mail a policy is looked up for. */
export interface DmarcSubject {
  readonly host: string;
  /** Whether DNS knows the name at all (RFC 8020); `np` is for those that it does not. */
  readonly exists: boolean;
}

/** The policy in a record of `publishedAt` for mail of a host; null when the record is not valid. */
export function dmarcPolicy(
  record: string,
  publishedAt: string,
  { host, exists }: DmarcSubject,
): DmarcPolicy | null {
  const tags = parseTagList(record);
  if (tags === null) return null;
  const lower = (name: string) => tags.get(name)?.toLowerCase();
  const ofOthers = exists ? lower('sp') : (lower('np') ?? lower('sp'));
  const asked = (publishedAt === host ? undefined : ofOthers) ?? lower('p') ?? 'none';
  const step = POLICIES.findIndex((each) => each === asked);
  const policy = POLICIES[lower('t') === 'y' ? Math.max(0, step - 1) : step];
  if (step === -1 || policy === undefined) return null;
  return {
    publishedAt,
    policy,
    strictDkim: lower('adkim') === 's',
    strictSpf: lower('aspf') === 's',
    standsAlone: lower('psd') === 'n',
  };
}

/** Of mail from a host below `signingDomain`, by which it is signed and below which it returns, if to us. */
export function alignmentBelow(
  signingDomain: string,
  policy: DmarcPolicy,
  returnsToUs: boolean,
): DmarcAlignment {
  const { publishedAt, strictDkim, strictSpf, standsAlone } = policy;
  const isApart = standsAlone && publishedAt.endsWith(`.${signingDomain}`);
  return {
    publishedAt,
    policy: policy.policy,
    dkim: !strictDkim && !isApart,
    spf: returnsToUs ? !strictSpf && !isApart : null,
  };
}
