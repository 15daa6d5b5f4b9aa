// As a server has it: first this, then who imports the module.
import '#bench/harness/cheap-passwords'
import { expect, test } from 'vitest'
import { argon2Engine } from '#iam/argon2'

test('new passwords cost as little as they can, and are checked all the same', async () => {
  const hash = await argon2Engine.hash('correct horse')
  expect(hash).toMatch(/^\$argon2id\$v=19\$m=8,t=1,p=1\$/)
  expect(await argon2Engine.verify(hash, 'correct horse')).toBe(true)
  expect(await argon2Engine.verify(hash, 'correct house')).toBe(false)
})
