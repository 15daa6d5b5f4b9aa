import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Report } from '#bench/harness/report'
import { projectRoot } from '#bench/project-root'

interface Ended {
  readonly code: number
  readonly output: string
  readonly errors: string
}

/** `npm run bench -- …` without npm. */
function bench(...line: string[]): Promise<Ended> {
  return new Promise((resolve) => {
    const program = join(projectRoot, 'src/launch.cjs')
    execFile(process.execPath, [program, 'bench', ...line], { cwd: projectRoot }, (error, output, errors) => {
      resolve({ code: Number(error?.code ?? 0), output, errors })
    })
  })
}

const questionFiles = readdirSync(join(projectRoot, 'bench/questions'))
const names = questionFiles.map((file) => file.replace(/\.ts$/, ''))

test('--list names every question with what it answers', async () => {
  const { code, output } = await bench('--list')
  expect(code).toBe(0)
  const lines = output.split('\n').filter((line) => line !== '')
  expect(lines.map((line) => line.split(' ')[0]).sort()).toEqual(names.sort())
  for (const line of lines) expect(line).toMatch(/^\S+ +Answers: .+ Does not count: .+\.$/)
})

test.each(questionFiles)('%s says on its first line what it answers and what it does not count', (file) => {
  const [first] = readFileSync(join(projectRoot, 'bench/questions', file), 'utf8').split('\n')
  expect(first).toMatch(/^\/\/ Answers: .+ Does not count: .+\.$/)
})

test('--help says how it is used', async () => {
  const { code, output } = await bench('--help')
  expect(code).toBe(0)
  for (const option of ['--list', '--json', '--rounds', '--iam', '--quick', '--help'])
    expect(output).toContain(`  ${option}`)
})

describe('a mistake ends it with 2, one line, and nothing measured', () => {
  test.each([
    ['a name of nothing', ['ingest', 'digest'], 'no such question: digest'],
    ['a name that every object knows', ['toString'], 'no such question: toString'],
    ['rounds that are no number', ['--rounds', 'x'], "must be an integer from 1 to 100; got 'x'"],
    ['no rounds', ['--rounds', '0'], "got '0'"],
    ['half a round', ['--rounds', '1.5'], "got '1.5'"],
    ['too many rounds', ['--rounds', '101'], "got '101'"],
    ['identity for who decides himself', ['--iam', 'ingest', 'auth'], '--iam says nothing to auth'],
    ['an unknown option', ['--fast'], "Unknown option '--fast'"],
  ])('%s', async (_, line, message) => {
    const { code, output, errors } = await bench(...line)
    expect(code).toBe(2)
    expect(output).toBe('')
    expect(errors).toContain(message)
    expect(errors.trim().split('\n')).toHaveLength(1)
  })
})

test('a quick round of each goes all the way and writes nothing down', { timeout: 420_000 }, async () => {
  const results = join(projectRoot, 'bench/results')
  const files = () => (existsSync(results) ? readdirSync(results) : [])
  const kept = () => files().map((file) => readFileSync(join(results, file), 'utf8'))
  const before = kept()
  const { code, output, errors } = await bench('--quick', '--json', 'ingest', 'restart', 'auth')
  expect(errors.split('\n').filter((line) => !/^((ingest|restart|auth): Answers|round 1 |$)/.test(line))).toEqual([])
  expect(code).toBe(0)
  expect(kept()).toEqual(before)
  const reports = JSON.parse(output) as Report[]
  expect(reports.map(({ name }) => name)).toEqual(['ingest', 'restart', 'auth'])
  for (const report of reports) expectWhole(report)
  const [ones] = reports[0]?.results ?? []
  const ours = ones?.variants.find(({ name }) => name === 'process')
  expect(Object.keys(ours?.ratios ?? {})).toEqual(['changesPerSecond', 'serverCpuPerChange'])
})

test('with identity on everybody is let in, and the report is another one', { timeout: 180_000 }, async () => {
  const { code, output, errors } = await bench('--quick', '--json', '--iam', 'ingest')
  expect(code, errors).toBe(0)
  const [report] = JSON.parse(output) as Report[]
  expect(report).toMatchObject({ name: 'ingest-iam', about: expect.stringMatching(/ Measured with IAM on\.$/) })
  expectWhole(report as Report)
})

/** Every variant was measured once, and every figure is one. */
function expectWhole({ about, machine, rounds, results, verdicts }: Report): void {
  expect(about).toMatch(/^Answers: /)
  expect(machine).toMatchObject({ node: process.version, system: `${process.platform} ${process.arch}` })
  expect(rounds).toBe(1)
  expect(results.length).toBeGreaterThan(1)
  for (const { variants } of results) {
    expect(variants.length).toBeGreaterThan(0)
    for (const variant of variants) {
      expect(variant.rounds).toHaveLength(1)
      expect(Object.keys(variant.figures)).not.toEqual([])
      for (const { median, min, max } of [...Object.values(variant.figures), ...Object.values(variant.ratios)]) {
        expect(median).toBeGreaterThan(0)
        expect([min, max]).toEqual([median, median])
      }
    }
  }
  expect(verdicts.length).toBeGreaterThan(0)
}
