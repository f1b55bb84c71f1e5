import { parseTagList } from './tag-list.js';

const POLICIES = ['none', 'quarantine', 'reject'] as const;
type Policy = (typeof POLICIES)[number];

/** What rules the mail of a host (RFC 9989 §4.7). */
export interface DmarcPolicy {
  /** The domain at which it is published: the host's own, or one above it. */
  readonly publishedAt: string;
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

/** The policy in a record of `publishedAt` for mail of `host`; null when the record is not valid. */
export function dmarcPolicy(record: string, publishedAt: string, host: string): DmarcPolicy | null {
  const tags = parseTagList(record);
  if (tags === null) return null;
  const lower = (name: string) => tags.get(name)?.toLowerCase();
  const asked = (publishedAt === host ? undefined : lower('sp')) ?? lower('p') ?? 'none';
  const policy = POLICIES.find((each) => each === asked);
  if (policy === undefined) return null;
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
