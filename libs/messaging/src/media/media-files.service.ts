import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from 'pino';
import { UnavailableError } from '#kernel';
import { type Config, CONFIG, describeError, LOGGER } from '#platform';
import { ContentCompileError } from '../content/content.errors.js';
import { ContentProcessesService } from '../content/processes/content-processes.service.js';
import { fileOfWidth, MEDIA_FILES, type NamedMedia } from './media.js';
import { DiskMediaStorage, type MediaContent, type MediaStorage } from './media-storage.js';
import { S3MediaStorage } from './s3-media-storage.js';

type StorageConfig = Pick<
  Config,
  'MEDIA_DIR' | 'S3_BUCKET' | 'S3_ENDPOINT' | 'S3_REGION' | 'S3_ACCESS_KEY_ID' | 'S3_SECRET_ACCESS_KEY'
>;

/** Narrower images of an environment that may wait to be made. */
const MOST_WAITING = 16;
const RETRY_AFTER_SECONDS = 5;

/** A public image. */
export interface ServedMedia {
  readonly content: MediaContent;
  /** `original`, `w640`. */
  readonly file: string;
  /** False: a narrower one could not be made now, so that the next request may get another one. */
  readonly isLasting: boolean;
}

/** The bytes of images: on disk, or in S3. */
@Injectable()
export class MediaFilesService {
  readonly #storage: MediaStorage;
  readonly #making = new Map<string, Promise<boolean>>();
  /** Keyed by environment. */
  readonly #waiting = new Map<number, number>();

  constructor(
    private readonly processes: ContentProcessesService,
    @Inject(CONFIG) config: StorageConfig,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.#storage = storageOf(config);
  }

  /** Throws UnavailableError. */
  async write(media: NamedMedia, file: string, content: Uint8Array): Promise<void> {
    const { environmentId, name, contentType } = media;
    await this.#reached(() => this.#storage.write({ environmentId, name, file }, content, contentType));
  }

  /**
   * An image, or one of the given width, which is made when it is first asked for. Null: there is none. Throws UnavailableError.
   */
  async open(media: NamedMedia, width: number | null): Promise<ServedMedia | null> {
    const { environmentId, name } = media;
    const find = (file: string) => this.#reached(() => this.#storage.find({ environmentId, name, file }));
    const original = async (isLasting: boolean): Promise<ServedMedia | null> => {
      const content = await find('original');
      return content === null ? null : { content, file: 'original', isLasting };
    };
    if (width === null) return original(true);
    const file = fileOfWidth(width);
    const known = await find(file);
    if (known !== null) return { content: known, file, isLasting: true };
    const whole = await find('original');
    if (whole === null) return null;
    const isMade = await this.#madeOnce(media, whole, width);
    const made = isMade ? await find(file) : null;
    return made === null ? original(isMade) : { content: made, file, isLasting: true };
  }

  /** All octets of an image. Throws UnavailableError; null where there is none. */
  async read({ environmentId, name }: Pick<NamedMedia, 'environmentId' | 'name'>): Promise<Buffer | null> {
    return this.#reached(async () => {
      const content = await this.#storage.find({ environmentId, name, file: 'original' });
      return content === null ? null : octetsOf(content);
    });
  }

  /** Removes an image and all of its widths. Throws UnavailableError. */
  async remove(environmentId: number, name: string): Promise<void> {
    await this.#reached(() => this.#storage.remove(environmentId, name, MEDIA_FILES));
  }

  /** False where it could not be made now. Requests that come meanwhile wait for the same one. */
  #madeOnce(media: NamedMedia, original: MediaContent, width: number): Promise<boolean> {
    const key = `${media.name} ${width}`;
    const running = this.#making.get(key);
    if (running !== undefined) return running;
    const waiting = this.#waiting.get(media.environmentId) ?? 0;
    if (waiting >= MOST_WAITING) return Promise.resolve(false);
    this.#waiting.set(media.environmentId, waiting + 1);
    const making = this.#make(media, original, width).finally(() => {
      this.#making.delete(key);
      const left = this.#waiting.get(media.environmentId)! - 1;
      if (left === 0) this.#waiting.delete(media.environmentId);
      else this.#waiting.set(media.environmentId, left);
    });
    this.#making.set(key, making);
    return making;
  }

  async #make(media: NamedMedia, original: MediaContent, width: number): Promise<boolean> {
    try {
      const content = await this.#reached(() => octetsOf(original));
      const narrower = await this.processes.image(media, { content, width });
      await this.write(media, fileOfWidth(width), narrower.content);
      return true;
    } catch (error) {
      if (!(error instanceof UnavailableError || error instanceof ContentCompileError)) throw error;
      this.logger.warn({ name: media.name, width, error: error.message }, 'narrower image was not made');
      return false;
    }
  }

  async #reached<T>(ask: () => Promise<T>): Promise<T> {
    try {
      return await ask();
    } catch (error) {
      this.logger.error({ error: describeError(error) }, 'storage of images cannot be used');
      throw new UnavailableError('The storage of images cannot be used now.', RETRY_AFTER_SECONDS);
    }
  }
}

function storageOf(config: StorageConfig): MediaStorage {
  const { S3_BUCKET, S3_ENDPOINT, S3_REGION, S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY } = config;
  if (S3_BUCKET === undefined) return new DiskMediaStorage(config.MEDIA_DIR);
  return new S3MediaStorage({
    endpoint: S3_ENDPOINT!,
    bucket: S3_BUCKET,
    region: S3_REGION,
    accessKeyId: S3_ACCESS_KEY_ID!,
    secretAccessKey: S3_SECRET_ACCESS_KEY!,
  });
}

async function octetsOf(content: MediaContent): Promise<Buffer> {
  const stream = await content.stream();
  const parts: Buffer[] = [];
  for await (const part of stream) parts.push(Buffer.from(part as Uint8Array));
  return Buffer.concat(parts);
}
