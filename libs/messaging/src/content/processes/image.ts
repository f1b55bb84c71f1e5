import sharp, { type Metadata, type Sharp } from 'sharp';
import { ContentCompileError } from '../content.errors.js';
import { type ImageType, imageTypeOf } from './image-type.js';

export interface StoredImage {
  readonly contentType: ImageType;
  readonly width: number;
  readonly height: number;
  readonly content: Uint8Array;
}

const MOST_PIXELS = 40_000_000;
const MOST_FRAMES = 300;
/** All frames together, so that they are decoded within the limits of the process. */
const MOST_PIXELS_OF_FRAMES = 150_000_000;
const LONGEST_SIDE = 16_383;
/** Larger than an upload may be: a photo of little quality takes more when it is written anew. */
const MOST_BYTES = 10_000_000;

// The four formats alone, without a cache, in the thread that is watched.
sharp.cache(false);
sharp.concurrency(1);
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({
  operation: ['VipsForeignLoadPng', 'VipsForeignLoadJpeg', 'VipsForeignLoadNsgif', 'VipsForeignLoadWebp'],
});

/**
 * An image as mails show it: upright, in sRGB, without metadata, its frames kept. `width`, in pixels, makes a narrower one. What it is
 * not decoded from ends: a file that is two things at once becomes an image.
 * @throws {ContentCompileError} with a fault that goes behind the field's name
 */
export async function storedImage({
  content,
  width = null,
}: {
  readonly content: Uint8Array;
  readonly width?: number | null;
}): Promise<StoredImage> {
  const contentType = imageTypeOf(content);
  if (contentType === null) throw new ContentCompileError('is no PNG, JPEG, GIF or WebP image');
  try {
    const { pages = 1 } = await checkedMetadata(content, contentType);
    const image = sharp(content, { animated: pages > 1, limitInputPixels: false, failOn: 'error' });
    if (pages === 1) image.autoOrient();
    if (width !== null) image.resize({ width, withoutEnlargement: true });
    written(image, contentType, content);
    const { data, info } = await image.toBuffer({ resolveWithObject: true });
    if (data.length > MOST_BYTES)
      throw new ContentCompileError(`takes more than ${MOST_BYTES / 1e6} MB as we would keep it`);
    return { contentType, width: info.width, height: info.pageHeight ?? info.height, content: data };
  } catch (error) {
    if (error instanceof ContentCompileError) throw error;
    const [reason = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
    throw new ContentCompileError(`cannot be read as an image: ${reason.slice(0, 200)}`, { cause: error });
  }
}

/** Metadata from the headers, before a pixel is decoded. */
async function checkedMetadata(content: Uint8Array, contentType: ImageType): Promise<Metadata> {
  const metadata = await sharp(content, { animated: true, limitInputPixels: false }).metadata();
  const { width, pages = 1 } = metadata;
  const height = metadata.pageHeight ?? metadata.height;
  const size = `is ${width} × ${height} pixels`;
  if (width * height > MOST_PIXELS)
    throw new ContentCompileError(`${size}: at most ${MOST_PIXELS / 1e6} megapixels are taken`);
  if (Math.max(width, height) > LONGEST_SIDE)
    throw new ContentCompileError(`${size}: at most ${LONGEST_SIDE} a side are taken`);
  if (pages > MOST_FRAMES)
    throw new ContentCompileError(`has ${pages} frames: at most ${MOST_FRAMES} are taken`);
  if (width * height * pages > MOST_PIXELS_OF_FRAMES) {
    const most = `at most ${MOST_PIXELS_OF_FRAMES / 1e6} megapixels of all frames together are taken`;
    throw new ContentCompileError(`${size} and has ${pages} frames: ${most}`);
  }
  if (contentType === 'image/png' && isAnimatedPng(content))
    throw new ContentCompileError(
      'is an animated PNG, which many mail programs do not move: send GIF or WebP',
    );
  return metadata;
}

/** An `acTL` chunk comes before the first data (PNG 3rd ed. §11.3.6.1). */
function isAnimatedPng(content: Uint8Array): boolean {
  const octets = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
  const data = octets.indexOf('IDAT');
  return octets.subarray(0, data === -1 ? octets.length : data).includes('acTL');
}

function written(image: Sharp, contentType: ImageType, content: Uint8Array): void {
  switch (contentType) {
    case 'image/png':
      image.png({ compressionLevel: 9, palette: isPalette(content) });
      break;
    case 'image/jpeg':
      image.jpeg({ quality: 88, progressive: true });
      break;
    case 'image/gif':
      image.gif({ keepDuplicateFrames: true });
      break;
    case 'image/webp':
      image.webp({ quality: 86, lossless: Buffer.from(content.subarray(12, 16)).toString() === 'VP8L' });
  }
}

/** Colour type 3 of the header (PNG 3rd ed. §11.2.1). */
const isPalette = (content: Uint8Array): boolean => content[25] === 3;
