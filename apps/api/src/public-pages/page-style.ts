import { createHash } from 'node:crypto';
import { documentStyle } from './document-style.js';
import { formStyle } from './form-style.js';
import { frameStyle } from './frame-style.js';
import { Html } from '../html.js';
import { languageStyle } from './language-style.js';
import { pageColours } from './page-colours.js';
import { printStyle } from './print-style.js';
import { reportStyle } from './report-style.js';

const parts = [pageColours, frameStyle, formStyle, documentStyle, reportStyle, languageStyle, printStyle];

/** The style sheet of all pages. No whitespace between it and its tags, so that its hash matches. */
export const styleElement = new Html(['<style>', '</style>'], [parts]);

/** The style source of the pages' Content-Security-Policy. */
export const STYLE_SOURCE = `'sha256-${createHash('sha256').update(parts.join('')).digest('base64')}'`;
