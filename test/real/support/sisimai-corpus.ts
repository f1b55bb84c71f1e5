import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Finding of sisimai on one recipient of a sample. */
interface Finding {
  readonly status: string;
  readonly reason: string;
  readonly isHard: boolean;
  readonly feedbackType: string | undefined;
}

export interface SisimaiSample {
  readonly name: string;
  readonly raw: Buffer;
  readonly findings: readonly Finding[];
}

/** Any of these is right: a bounce class, `complaint` or `nothing`. */
const OUTCOMES: Readonly<Record<string, readonly string[]>> = {
  userunknown: ['hard'],
  hostunknown: ['hard'],
  hasmoved: ['hard'],
  mailboxfull: ['mailbox'],
  mesgtoobig: ['content'],
  exceedlimit: ['content'],
  contenterror: ['content'],
  virusdetected: ['content', 'policy'],
  notcompliantrfc: ['content', 'policy'],
  syntaxerror: ['content', 'network', 'unknown'],
  authfailure: ['sender'],
  requireptr: ['sender', 'policy'],
  norelaying: ['sender', 'policy'],
  rejected: ['sender', 'policy'],
  blocked: ['policy', 'sender'],
  securityerror: ['policy', 'sender'],
  policyviolation: ['policy', 'content'],
  badreputation: ['policy'],
  spamdetected: ['policy'],
  filtered: ['policy', 'unknown'],
  toomanyconn: ['policy', 'network'],
  speeding: ['policy', 'mailbox'],
  suspend: ['hard', 'mailbox', 'policy'],
  expired: ['network'],
  networkerror: ['network'],
  systemerror: ['network', 'unknown'],
  systemfull: ['network', 'mailbox'],
  mailererror: ['network', 'unknown'],
  notaccept: ['hard', 'network'],
  onhold: ['mailbox', 'unknown', 'policy', 'network'],
  undefined: ['mailbox', 'unknown', 'policy', 'network'],
  delivered: ['nothing'],
  vacation: ['nothing'],
};

/** Sisimai calls it filtered, or rejected, when a server says so late, or is a carrier’s; its words are of an unknown user. */
const SAYS_UNKNOWN =
  /mailbox unavailable|doesn't have an? .{1,40} account|user unknown|unknown user|unknown recipient|no such user|recipient not found|(?:mailbox|account).{0,40}does not exist|invalid recipient/i;
const TABLE = /^(?:(?:lhost|rhost)-\w+|arf|rfc3464|rfc3834)\.rb$/;
const NOT_A_TABLE = /-(?:test|code)\.rb$/;

/** The samples of a checkout of github.com/sisimai/rb-sisimai: its reports and its tests' table of what each says. */
export function sisimaiSamples(directory: string): SisimaiSample[] {
  const tables = join(directory, 'test/public');
  return readdirSync(tables)
    .filter((file) => TABLE.test(file) && !NOT_A_TABLE.test(file))
    .toSorted()
    .flatMap((file) => samplesOf(directory, file, readFileSync(join(tables, file), 'latin1')));
}

function samplesOf(directory: string, file: string, table: string): SisimaiSample[] {
  return [...table.matchAll(/^\s*'(\d+)'\s*=>\s*\[((?:\s*\[[^\]]*\],?)+)\]/gm)].flatMap(
    ([, number, rows = '']) => {
      const name = `${file.replace(/\.rb$/, '')}-${number}`;
      const path = join(directory, 'set-of-emails/maildir/bsd', `${name}.eml`);
      if (!existsSync(path)) return [];
      const findings = [...rows.matchAll(/\[([^\]]*)\]/g)].map(([, row = '']) => findingOf(row));
      return [{ name, raw: readFileSync(path), findings }];
    },
  );
}

/** `'5.1.1', '550', 'userunknown', true` */
function findingOf(row: string): Finding {
  const [status = '', , reason = '', hard, feedbackType] = row
    .split(',')
    .map((cell) => cell.trim().replaceAll("'", ''));
  return { status, reason, isHard: hard === 'true', feedbackType };
}

/** A sample of several recipients is right when one of them is: our mails have one. */
export function isRight(sample: SisimaiSample, outcome: string): boolean {
  return sample.findings.some((finding) => outcomesOf(sample, finding).includes(outcome));
}

/** True if an address that is alive would be kept from mail for good. */
export function suppressesWrongly(sample: SisimaiSample, outcome: string): boolean {
  return outcome === 'hard' && !isRight(sample, outcome);
}

function outcomesOf({ raw }: SisimaiSample, finding: Finding): readonly string[] {
  const { reason, status, isHard, feedbackType } = finding;
  if (reason === 'feedback') return feedbackType === 'abuse' ? ['complaint'] : ['nothing'];
  const text = raw.toString('latin1');
  if (isDelay(text)) return ['nothing'];
  // A refusal with a temporary code is not believed to be for good.
  if (isHard) return status.startsWith('4') ? ['mailbox', 'network'] : ['hard'];
  if (reason === 'blocked' && status.startsWith('4')) return ['policy', 'sender', 'network'];
  const outcomes = OUTCOMES[reason] ?? [];
  if (reason === 'networkerror' && /\bNXDOMAIN\b/.test(text)) return [...outcomes, 'hard'];
  return /^(?:filtered|rejected)$/.test(reason) && SAYS_UNKNOWN.test(text) ? [...outcomes, 'hard'] : outcomes;
}

/** Sisimai tells why a mail is late; a mail that is still under way is nothing to us. */
function isDelay(text: string): boolean {
  if (/^action: *failed/im.test(text)) return false;
  return /^action: *delayed/im.test(text) || /^subject:.*\b(?:delay|warning)/im.test(text);
}
