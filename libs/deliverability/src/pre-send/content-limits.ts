/** Where content begins to do worse. */
export const CONTENT_LIMITS = {
  /** Characters of a subject; mail programs on phones show fewer still. */
  subjectLength: 70,
  /** Bytes of the HTML part as it is sent: Gmail clips what is beyond some 102 KB. */
  htmlBytes: 100 * 1024,
  /** Characters of text that should stand beside each image. */
  textPerImage: 100,
  /** A text part should say at least this share of what the HTML part says, by length … */
  textShare: 0.2,
  /** … when the HTML part has at least so many characters. */
  textShareFrom: 200,
} as const;
