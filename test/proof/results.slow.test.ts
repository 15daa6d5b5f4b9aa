import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Machine } from '#bench/harness/machine'
import type { Outcome, Proof } from '#bench/proof/outcome'
import { keepOutcome } from '#bench/proof/results'

const proof = (about: string): Proof => ({ about, help: '', run: async () => outcome([]) })
const outcome = (problems: readonly string[]): Outcome => ({
  seed: 7,
  seconds: 12.3,
  said: ['400 were tried'],
  problems,
})
const machine: Machine = {
  processors: '2 × A',
  memoryGib: 4,
  system: 'linux x64',
  node: 'v22.0.0',
  commit: 'abc1234',
  at: '2026-11-22T06:00:00.000Z',
}

test('what came of each proof is kept beside that of the others, the latest of each', () => {
  const folder = mkdtempSync(join(tmpdir(), 'results-'))
  try {
    keepOutcome('one', proof('the first'), outcome(['it was lost\n  at a place']), machine, [], folder)
    keepOutcome('two', proof('the second'), outcome([]), machine, [], folder)
    const text = () => readFileSync(join(folder, 'proof.md'), 'utf8')
    expect(text()).toMatch(/## one\n\nthe first: \*\*broken\*\*\.\n\n- 400 were tried\n- WRONG: it was lost\n/)
    expect(text()).toMatch(
      /## two\n\nthe second: \*\*held\*\*\.[\s\S]*12 s, seed 7\. 2 × A, 4 GiB, .* commit abc1234, 2026-/,
    )
    keepOutcome('one', proof('the first'), outcome([]), machine, ['--rounds', '25'], folder)
    expect(text()).not.toContain('broken')
    expect(text()).toContain('12 s, seed 7, asked for `--rounds 25`. 2 × A')
    expect(text().match(/^## .*/gm)).toEqual(['## one', '## two'])
    expect(text()).toMatch(/^# proof\n\nWhat was .*\n\n## one\n/)
  } finally {
    rmSync(folder, { recursive: true })
  }
})
