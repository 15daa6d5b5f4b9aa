import { createHash, randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { madeSecret } from '#link/device-secret'

test('a secret is 256 bits that fit into a header, and only its hash need be kept', () => {
  const asked: number[] = []
  const { text, hash } = madeSecret((byteCount) => {
    asked.push(byteCount)
    return randomBytes(byteCount)
  })
  expect(asked).toEqual([32])
  expect(text).toMatch(/^[A-Za-z0-9_-]{43}$/)
  expect(Buffer.from(hash)).toEqual(createHash('sha256').update(text).digest())
})
