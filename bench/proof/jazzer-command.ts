import { parseArgs } from 'node:util'
import { projectRoot } from '#bench/project-root'
import { findJazzer, fuzzed } from '#bench/proof/jazzer/jazzer'
import type { Target } from '#bench/proof/jazzer/target'
import { targets } from '#bench/proof/jazzer/targets'
import { positive } from '#bench/proof/outcome'

const help = `Usage: npm run proof -- jazzer [options]

Calls what reads bytes from outside with bytes that are led by the code they reach (Jazzer.js, which is no part of this
project: npm install @jazzer.js/core@4.0.0 in a folder of its own).

${Object.entries(targets)
  .map(([name, { about }]) => `  ${name.padEnd(21)} ${about}`)
  .join('\n')}

  --target NAME         only this one, else one after the other
  --seconds N           for each (60)
  --seed N              of chance (the clock)
  --from FOLDER         where @jazzer.js/core is installed (this project)
  --node PROGRAM        the Node to run it by, such as a script that gives it another glibc (this one)
  --bytes BASE64        calls the target once with these, without Jazzer.js: what was found, again`

/** Answers whether nothing was found. @throws Error where Jazzer.js cannot be tried */
export async function jazzerCommand(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      target: { type: 'string' },
      seconds: { type: 'string', default: '60' },
      seed: { type: 'string', default: String(1 + (Date.now() % 1_000_000_000)) },
      from: { type: 'string', default: projectRoot },
      node: { type: 'string', default: process.execPath },
      bytes: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    console.log(help)
    return true
  }
  const named = values.target === undefined ? Object.keys(targets) : [values.target]
  if (values.bytes !== undefined) {
    if (values.target === undefined) throw new RangeError('--bytes: of which --target?')
    return calledOnce(values.target, Buffer.from(values.bytes, 'base64'))
  }
  const all = named.map((name) => [name, targetOf(name)] as const)
  const [seconds, seed] = [positive('seconds', values.seconds), positive('seed', values.seed)]
  const jazzer = findJazzer(values.from, values.node)
  let isClean = true
  for (const [name, target] of all) {
    console.log(`${name}: for ${seconds} s, seed ${seed}`)
    const { runs, coverage, finding } = await fuzzed(jazzer, name, target, { seconds, seed })
    if (!finding) {
      console.log(`${name}: called ${runs} times, ${coverage} edges reached, nothing found`)
      continue
    }
    isClean = false
    const bytes = Buffer.from(finding.bytes).toString('base64')
    console.error(
      `${name}: FOUND something\n${finding.said}\nagain: npm run proof -- jazzer --target ${name} --bytes ${bytes}`,
    )
  }
  return isClean
}

function calledOnce(name: string, bytes: Uint8Array): boolean {
  const { fuzz } = targetOf(name)
  try {
    console.log(`${name}: ${fuzz(bytes)}`)
    return true
  } catch (error) {
    console.error(`${name}: ${error instanceof Error ? error.stack : error}`)
    return false
  }
}

function targetOf(name: string): Target {
  const target = Object.hasOwn(targets, name) ? targets[name] : undefined
  if (!target) throw new RangeError(`--target: one of ${Object.keys(targets).join(', ')}; got '${name}'`)
  return target
}
