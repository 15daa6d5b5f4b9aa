import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { projectRoot } from '#bench/project-root'

const help = `Usage: npm run proof -- fuzz [options]

Sends the server spoilt frames, requests, proofs and texts, and gives its readers spoilt tokens, MessagePack and conditions, again
and again, each round by another chance.

  --for SECONDS         no round begins after so long (600)
  --times N             so many times as often in a round as in npm test (10)
  --seed N              of the first round; the next ones count on from it (the clock)`

/** In one round nothing hangs for longer. */
const testMsMax = 1_800_000

/** Answers whether nothing was found. */
export async function fuzzCommand(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      for: { type: 'string', default: '600' },
      times: { type: 'string', default: '10' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000_000) },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    console.log(help)
    return true
  }
  const [secondsMax, times, firstSeed] = [
    positive('for', values.for),
    positive('times', values.times),
    positive('seed', values.seed),
  ]
  const startedAt = performance.now()
  let rounds = 0
  while (rounds === 0 || performance.now() - startedAt < secondsMax * 1000) {
    const seed = firstSeed + rounds
    console.log(`round ${++rounds}, seed ${seed}`)
    if (!(await holds(seed, times))) {
      console.error(`found something; again: npm run proof -- fuzz --for 1 --times ${times} --seed ${seed}`)
      return false
    }
  }
  console.log(`${rounds} rounds in ${((performance.now() - startedAt) / 1000).toFixed(0)} s found nothing`)
  return true
}

/** One round of the tests of `test/attacks/fuzz`, in a process of its own. */
function holds(seed: number, times: number): Promise<boolean> {
  const vitest = join(projectRoot, 'node_modules/vitest/vitest.mjs')
  const child = spawn(
    process.execPath,
    [vitest, 'run', 'test/attacks/fuzz', `--testTimeout=${testMsMax}`, '--reporter=dot'],
    {
      cwd: projectRoot,
      stdio: 'inherit',
      env: { ...process.env, FUZZ_SEED: String(seed), FUZZ_TIMES: String(times) },
    },
  )
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => resolve(code === 0))
  })
}

function positive(name: string, text: string): number {
  const number = Number(text)
  if (!Number.isInteger(number) || number < 1) throw new RangeError(`--${name}: a positive integer; got '${text}'`)
  return number
}
