import { fork } from 'node:child_process';
