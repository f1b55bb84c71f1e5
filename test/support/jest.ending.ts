import { afterAll } from '@jest/globals';
import { endPrograms } from './program.js';

afterAll(endPrograms);
