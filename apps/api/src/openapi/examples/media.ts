import type { z } from 'zod';
import type { mediaView } from '../../messaging/media.dto.js';
import { onePage, type WrittenExamples } from './written-example.js';

export const IMAGE_ID = '019bb695-5a80-7d2f-8e4a-3b6c9d1f5a72';

const UPLOADED = {
  id: IMAGE_ID,
  url: 'https://mailwright.example/media/2-5f0c9a3be27d4186a1c4d0937be85f62.png',
  filename: null,
  contentType: 'image/png',
  width: 600,
  height: 200,
  bytes: 18_204,
  usedBy: [],
  usedByCount: 0,
  lastShownOn: null,
  createdAt: '2026-01-13T09:00:00.000Z',
  updatedAt: '2026-01-13T09:00:00.000Z',
} satisfies z.output<typeof mediaView>;

const USED = {
  ...UPLOADED,
  usedBy: [{ kind: 'campaign', key: 'APIT-001', name: 'Spring 2026' }],
  usedByCount: 1,
} satisfies z.output<typeof mediaView>;

export const MEDIA_EXAMPLES: WrittenExamples = {
  listMedia: { answer: onePage(USED) },
  uploadMedia: { answer: UPLOADED },
  getMedia: { answer: USED },
};
