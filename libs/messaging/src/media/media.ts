import { randomBytes } from 'node:crypto';
import type { ResourceUser } from '#kernel';
import { IMAGE_TYPES, type ImageType } from '../content/processes/image-type.js';

/** An image as answers show it. */
export interface MediaView {
  readonly id: string;
  readonly url: string;
  readonly filename: string | null;
  readonly contentType: ImageType;
  readonly width: number;
  readonly height: number;
  readonly bytes: number;
  /** Content that names it: the first ten. */
  readonly usedBy: readonly ResourceUser[];
  readonly usedByCount: number;
  /** `YYYY-MM-DD`. */
  readonly lastShownOn: string | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** Octets of an upload. */
export const MOST_MEDIA_BYTES = 5 * 1_024 * 1_024;
/** After the last mail that shows an image it stays for so long, unless it is deleted by force. */
export const SHOWN_DAYS = 365;

/** Widths in pixels that images are made in; others are rounded up. */
const WIDTHS = [16, 32, 64, 96, 128, 192, 256, 320, 400, 480, 640, 800, 960, 1_200, 1_600, 2_000] as const;

/** Files of one image in the storage. */
export const MEDIA_FILES: readonly string[] = ['original', ...WIDTHS.map(fileOfWidth)];

/** File of a width. */
export function fileOfWidth(width: number): string {
  return `w${width}`;
}

/** Path of public images, in URLs that mails keep for ever. */
export const MEDIA_PATH = 'media';

/** Environment in base 36, 128 random bits, and the extension of the type. */
const FILE = /^([0-9a-z]{1,13})-([0-9a-f]{32})\.(png|jpg|gif|webp)$/;
const NAME = /\b[0-9a-z]{1,13}-[0-9a-f]{32}\b/g;

/** An image by the last part of its URL. */
export interface NamedMedia {
  readonly environmentId: number;
  readonly name: string;
  readonly contentType: ImageType;
}

export function newMediaName(environmentId: number): string {
  return `${environmentId.toString(36)}-${randomBytes(16).toString('hex')}`;
}

/** Last part of an image's URL. */
export function mediaFileName(name: string, contentType: ImageType): string {
  const [extension] = Object.entries(IMAGE_TYPES).find(([, type]) => type === contentType) ?? [];
  return `${name}.${extension}`;
}

/** Null: no image of ours has such a name. */
export function parseMediaFileName(file: string): NamedMedia | null {
  const [, environment, random, extension] = FILE.exec(file) ?? [];
  if (environment === undefined || extension === undefined) return null;
  const environmentId = Number.parseInt(environment, 36);
  if (!Number.isSafeInteger(environmentId) || environmentId.toString(36) !== environment) return null;
  const contentType = IMAGE_TYPES[extension as keyof typeof IMAGE_TYPES];
  return { environmentId, name: `${environment}-${random}`, contentType };
}

/** Names that a text may mean, whatever stands around them: `note_media` in the database reads as much. */
export function mediaNamesIn(text: string): readonly string[] {
  return text.match(NAME) ?? [];
}

/** Narrower file for a width that is asked for; null: that is not a width. */
export function widthFor(asked: string): number | null {
  if (!/^[1-9]\d{0,4}$/.test(asked)) return null;
  return WIDTHS.find((width) => width >= Number(asked)) ?? WIDTHS.at(-1)!;
}
