import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';

/** Place of a file of an image: `original`, `w640`. */
export interface MediaPlace {
  readonly environmentId: number;
  readonly name: string;
  readonly file: string;
}

/** Octets that are read as they are needed. */
export interface MediaContent {
  readonly bytes: number;
  stream(): Promise<Readable>;
}

/** Storage for the bytes of images. What is written there is whole, or not there. */
export interface MediaStorage {
  write(place: MediaPlace, content: Uint8Array, contentType: string): Promise<void>;
  /** Null: it is not there. */
  find(place: MediaPlace): Promise<MediaContent | null>;
  /** Resolves also where there is nothing to remove. */
  remove(environmentId: number, name: string, files: readonly string[]): Promise<void>;
}

/** A directory for each image: `<environment>/<two digits>/<name>/original`. */
export class DiskMediaStorage implements MediaStorage {
  constructor(private readonly directory: string) {}

  async write(place: MediaPlace, content: Uint8Array): Promise<void> {
    const path = this.#pathOf(place);
    await mkdir(dirname(path), { recursive: true });
    const draft = `${path}.${randomUUID()}`;
    try {
      const file = await open(draft, 'wx', 0o640);
      try {
        await file.writeFile(content);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(draft, path);
    } catch (error) {
      await rm(draft, { force: true });
      throw error;
    }
  }

  async find(place: MediaPlace): Promise<MediaContent | null> {
    const path = this.#pathOf(place);
    try {
      const { size } = await stat(path);
      return { bytes: size, stream: () => Promise.resolve(createReadStream(path)) };
    } catch (error) {
      if (isAbsence(error)) return null;
      throw error;
    }
  }

  async remove(environmentId: number, name: string): Promise<void> {
    await rm(dirname(this.#pathOf({ environmentId, name, file: 'original' })), {
      recursive: true,
      force: true,
    });
  }

  #pathOf({ environmentId, name, file }: MediaPlace): string {
    const random = name.slice(name.indexOf('-') + 1);
    return join(this.directory, String(environmentId), random.slice(0, 2), random, file);
  }
}

function isAbsence(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : null;
  return code === 'ENOENT' || code === 'ENOTDIR';
}
