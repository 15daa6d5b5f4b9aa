import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { AlarmCondition } from '#model/condition'

/** Checks the conditions that `docs/api.md` has as examples. */

const text = readFileSync(fileURLToPath(new URL('../../docs/api.md', import.meta.url)), 'utf8')
const section = text.slice(text.indexOf('\n## Conditions\n')).split('\n## ')[1] ?? ''
const examples = [...section.matchAll(/^\d+\. .*: `(\{.*\})`$/gm)].map(([, condition]) => condition ?? '')

test('docs/api.md has ten conditions', () => {
  expect(examples).toHaveLength(10)
})

test.each(examples)('the documented condition %s is valid', (condition) => {
  expect(AlarmCondition.safeParse(JSON.parse(condition)).error).toBeUndefined()
})
