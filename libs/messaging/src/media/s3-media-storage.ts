import { Readable } from 'node:stream';
import { AwsClient } from 'aws4fetch';
import type { MediaContent, MediaPlace, MediaStorage } from './media-storage.js';

export interface S3Options {
  readonly endpoint: string;
  readonly bucket: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

const TIMEOUT_MS = 20_000;
const RETRIES = 2;
const ABSENT = 404;

/** Objects `<environment>/<name>/<file>` in a bucket of an S3 service (Signature Version 4), which is asked for in the path. */
export class S3MediaStorage implements MediaStorage {
  readonly #client: AwsClient;
  readonly #bucketUrl: string;

  constructor({ endpoint, bucket, region, accessKeyId, secretAccessKey }: S3Options) {
    this.#client = new AwsClient({
      accessKeyId,
      secretAccessKey,
      region,
      service: 's3',
      retries: RETRIES,
    });
    this.#bucketUrl = `${endpoint.replace(/\/+$/, '')}/${bucket}`;
  }

  async write(place: MediaPlace, content: Uint8Array, contentType: string): Promise<void> {
    const headers = { 'content-type': contentType, 'content-length': String(content.byteLength) };
    await this.#ask('PUT', place, { headers, body: content as Uint8Array<ArrayBuffer> });
  }

  async find(place: MediaPlace): Promise<MediaContent | null> {
    const { status, headers } = await this.#ask('HEAD', place, {}, [ABSENT]);
    if (status === ABSENT) return null;
    const stream = async (): Promise<Readable> => {
      const { body } = await this.#ask('GET', place);
      return body === null ? Readable.from([]) : Readable.fromWeb(body);
    };
    return { bytes: Number(headers.get('content-length')), stream };
  }

  async remove(environmentId: number, name: string, files: readonly string[]): Promise<void> {
    for (const file of files) await this.#ask('DELETE', { environmentId, name, file }, {}, [ABSENT]);
  }

  /** Throws what the service says when the status is none of success, and not `expected`. */
  async #ask(
    method: string,
    { environmentId, name, file }: MediaPlace,
    request: RequestInit = {},
    expected: readonly number[] = [],
  ): Promise<Response> {
    const url = `${this.#bucketUrl}/${environmentId}/${name}/${file}`;
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const answer = await this.#client.fetch(url, { ...request, method, signal });
    if (method !== 'GET' && !answer.ok && !expected.includes(answer.status)) {
      const told = (await answer.text()).slice(0, 300);
      throw new Error(`S3 answered ${method} with ${answer.status}: ${told}`);
    }
    if (method === 'GET' && !answer.ok) {
      await answer.body?.cancel();
      throw new Error(`S3 answered GET with ${answer.status}.`);
    }
    return answer;
  }
}
