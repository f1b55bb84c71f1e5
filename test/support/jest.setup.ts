// Nest is ESM and throttler is CommonJS: loading these first keeps require(esm) out of a cycle.
import 'reflect-metadata';
import '@nestjs/common';
import '@nestjs/core';
