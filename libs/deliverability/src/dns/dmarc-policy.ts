import { failed, parseTagList, type RecordVerdict, verified } from './record-verdict.js';

const POLICIES = ['none', 'quarantine', 'reject'] as const;
type Policy = (typeof POLICIES)[number];
const POLICY_TAGS = ['p', 'sp', 'np'] as const;
const POLICY_NOTE =
  'p=none asks receivers to do nothing about forged mail: go to p=quarantine or p=reject when your reports look right';
const TEST_NOTE =
  't=y asks receivers only to test the policy, not to apply it: take it out when your reports look right';
/** The next step of a policy that is right as it is: we ask for p=none ourselves. */
const ADVICE = /^(?:p=none|t=y) /;

/** Harmless for mail from the domain itself, whose signature names it. */
const STRICT_NOTE =
  'adkim=s with aspf=s fails mail from a host below the domain: let it come from the domain itself, or take one of the two out';

/** The advice in a note of `checkDmarc` for a valid policy; null if there is none. */
export function dmarcAdvice(note: string | null): string | null {
  const advice = (note ?? '').split('; ').filter((part) => ADVICE.test(part));
  return advice.length === 0 ? null : advice.join('; ');
}

/** True if the note of a policy is about a fault, if only for mail from below the domain, and no mere advice. */
export function tellsDmarcFault(note: string | null): boolean {
  return (note ?? '').split('; ').includes(STRICT_NOTE);
}

/** The records that are DMARC's; others at the host are to be ignored (RFC 9989 §4.10). */
export function dmarcRecords(found: readonly string[]): readonly string[] {
  return found.filter((text) => /^\s*v\s*=\s*DMARC1\s*(?:;|$)/.test(text));
}

/** Checks for one valid policy (RFC 9989 §4.7). `policyTag` rules the domain: p, or sp in an inherited record. */
export function checkDmarc(found: readonly string[], policyTag: 'p' | 'sp' = 'p'): RecordVerdict {
  const records = dmarcRecords(found);
  const [record] = records;
  if (record === undefined) {
    const looksMeant = found.some((text) => /dmarc/i.test(text));
    return failed(
      looksMeant ? 'SYNTAX' : 'MISSING',
      looksMeant ? 'the record must begin with v=DMARC1;' : 'there is no DMARC record among the TXT records',
      found,
    );
  }
  // RFC 9989 §4.10: with several records none applies.
  if (records.length > 1)
    return failed('MULTIPLE', `there are ${records.length} DMARC records; leave one`, records);
  const tags = parseTagList(record);
  if (tags === null) return failed('SYNTAX', 'the record is not a list of tag=value parts', records);
  const policy = policyOf(tags, policyTag);
  if (policy === undefined) return failed('SYNTAX', 'the record has neither p= nor rua=', records);
  const odd = POLICY_TAGS.find((tag) => !isPolicy(tags.get(tag)?.toLowerCase() ?? 'none'));
  if (odd !== undefined) return failed('SYNTAX', `${odd}= must be one of ${POLICIES.join(', ')}`, records);
  return verified(records, notesOf(tags, policy));
}

function notesOf(tags: ReadonlyMap<string, string>, policy: string): string | null {
  const says = (tag: string, value: string) => tags.get(tag)?.toLowerCase() === value;
  const notes = [
    ...(policy === 'none' ? [POLICY_NOTE] : []),
    ...(policy !== 'none' && says('t', 'y') ? [TEST_NOTE] : []),
    ...(says('adkim', 's') && says('aspf', 's') ? [STRICT_NOTE] : []),
  ];
  return notes.length === 0 ? null : notes.join('; ');
}

/** Without p=, a record that names a place for reports counts as p=none (RFC 9989 §4.7). */
function policyOf(tags: ReadonlyMap<string, string>, policyTag: 'p' | 'sp'): string | undefined {
  const policy = (policyTag === 'sp' ? tags.get('sp') : undefined) ?? tags.get('p');
  return policy?.toLowerCase() ?? (tags.has('rua') ? 'none' : undefined);
}

/** The policy that rules the mail of a host (RFC 9989 §4.7). */
export interface DmarcPolicy {
  /** The domain at which it is published: the host's own, or one above it. */
  readonly publishedAt: string;
  /** The action of receivers; one step less than the published one if `t=y` only tests it. */
  readonly policy: Policy;
  /** `adkim=s`, `aspf=s`: only the very domain of From aligns. */
  readonly strictDkim: boolean;
  readonly strictSpf: boolean;
  /** `psd=n`: the domain above belongs to somebody else, so it aligns with nothing below. */
  readonly standsAlone: boolean;
}

/** Alignment of DKIM and SPF with a From below the signing domain, and the policy if neither aligns. */
export interface DmarcAlignment {
  readonly publishedAt: string;
  readonly policy: Policy;
  readonly dkim: boolean;
  /** Null if the mail returns to a relay's provider, under a sender of its choice. */
  readonly spf: boolean | null;
}

const isPolicy = (text: string): boolean => POLICIES.some((policy) => policy === text);

/**
 * The policy in a record of `publishedAt` for mail of a host; null if the record is not valid. `exists` in DNS (RFC 8020): `np`
 * rules hosts that do not.
 */
export function dmarcPolicy(
  record: string,
  publishedAt: string,
  { host, exists }: { readonly host: string; readonly exists: boolean },
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

/** Alignment of mail from a host below `signingDomain`, which signs it and below which it returns, if to us. */
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
