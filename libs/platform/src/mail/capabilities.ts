/** What a relay offered in its EHLO reply, as far as we use it. */
export interface Capabilities {
  /** RFC 2920. */
  readonly pipelining: boolean;
  /** RFC 3030: takes messages by BDAT, which is not used. */
  readonly chunking: boolean;
  /** RFC 6152. */
  readonly eightBitMime: boolean;
  /** RFC 6531. */
  readonly smtpUtf8: boolean;
  /** RFC 1870: the largest message in octets, 0 where the relay sets no limit, null where SIZE is not offered. */
  readonly size: number | null;
}

/** Reads the last reply of a session's opening; anything but an EHLO reply (after HELO, say) offers nothing. */
export function capabilitiesOf(ehloReply: string): Capabilities {
  const offered = new Map<string, string>();
  for (const line of ehloReply.split(/\r?\n/).slice(1)) {
    const match = /^250[ -]([A-Za-z0-9][A-Za-z0-9-]*)(?:[ \t]+(.*))?$/.exec(line.trim());
    if (match?.[1] !== undefined) offered.set(match[1].toUpperCase(), match[2] ?? '');
  }
  const size = offered.get('SIZE');
  return {
    pipelining: offered.has('PIPELINING'),
    chunking: offered.has('CHUNKING'),
    eightBitMime: offered.has('8BITMIME'),
    smtpUtf8: offered.has('SMTPUTF8'),
    size: size === undefined ? null : Number(/^\d+/.exec(size)?.[0] ?? 0),
  };
}
