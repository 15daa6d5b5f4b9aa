import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { z } from 'zod'
import type { RouteEntry } from '#api/entry'

/**
 * What is asked or answered under a name that stands for a secret makes its entry secret, and nothing else does. Public
 * keys are told to everybody.
 */
const secretNames = /^(password|current|secret|code|key|token|accessToken|refreshToken|ticket|recoveryCodes|challenge)$/

const folder = fileURLToPath(new URL('../../src/api', import.meta.url))
const modules = await Promise.all(
  readdirSync(folder).map(async (file) => (await import(join(folder, file))) as Record<string, unknown>),
)
const entries = modules.flatMap((module) => Object.values(module).filter(isEntry))

function isEntry(value: unknown): value is RouteEntry {
  return typeof value === 'object' && value !== null && 'method' in value && 'access' in value && 'example' in value
}

function namesOf(schema: z.ZodType | undefined, io: 'input' | 'output'): string[] {
  const names: string[] = []
  const text = JSON.stringify(schema ? z.toJSONSchema(schema, { io, unrepresentable: 'any' }) : {}, (name, value) => {
    if (name === 'properties') names.push(...Object.keys(value as object))
    return value as unknown
  })
  expect(text).toBeTypeOf('string')
  return names
}

test.each(entries.map((entry) => [entry.name, entry] as const))('%s', (_, { body, answers, isSecret, path }) => {
  const names = [
    ...namesOf(body?.schema, 'input'),
    ...Object.values(answers).flatMap(({ schema }) => namesOf(schema, 'output')),
  ]
  const secret = names.filter((name) => secretNames.test(name))
  // Options of a registration, and an assertion, are spoken for the token or the password beside them; a backup by itself.
  const isSpokenFor = path.startsWith('/auth/2fa/webauthn/') || path === '/backup'
  if (isSecret) expect(secret.length > 0 || isSpokenFor, names.join()).toBe(true)
  else expect(secret).toEqual([])
})

test('there are some of both', () => {
  const count = entries.filter(({ isSecret }) => isSecret).length
  expect([count > 15, entries.length - count > 30]).toEqual([true, true])
})
