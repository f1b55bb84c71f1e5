/** What a refusal says about the address, the message or us; each class has its own consequence. */
export type BounceClass = 'hard' | 'mailbox' | 'policy' | 'sender' | 'content' | 'network' | 'unknown';

/**
 * One row: what must match, the class that it means, and what a real server says that falls under it. Every repetition
 * in a pattern has an upper bound, so that a text costs its length and no more.
 */
export interface BounceRule {
  readonly class: BounceClass;
  /** Of the enhanced status code (RFC 3463); the empty string stands for none. */
  readonly enhanced?: RegExp;
  /** Of the words, without the addresses in them. */
  readonly text?: RegExp;
  /** Of the basic code (RFC 5321 §4.2). */
  readonly basic?: RegExp;
  /** Reply line: basic code, enhanced code if there is one, words. */
  readonly sample: string;
}

/** One pattern of several, so that a row can list its words one below the other. */
export function anyOf(...patterns: readonly RegExp[]): RegExp {
  return new RegExp(patterns.map(({ source }) => source).join('|'), 'i');
}
