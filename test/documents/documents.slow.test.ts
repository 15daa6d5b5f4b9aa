import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { projectRoot } from '#bench/project-root'
import { blocksOf, DocumentRunner, isPrinted } from '#test/documents/document-runner'

/** Runs the commands of each document, block by block, with a separate server, and checks the printed output. */

const documents = [
  'README.md',
  'CONTRIBUTING.md',
  'ops/README.md',
  ...readdirSync(join(projectRoot, 'docs')).map((name) => `docs/${name}`),
]
  .filter((path) => path.endsWith('.md'))
  .map((path) => ({ path, blocks: blocksOf(readFileSync(join(projectRoot, path), 'utf8')) }))

/** The number of blocks with `not run`, each of which needs a reason. */
const notRunCounts: Readonly<Record<string, number>> = {
  'README.md': 1,
  'CONTRIBUTING.md': 6,
  'docs/client.md': 1,
  'docs/mqtt.md': 3,
  'docs/operator-guide.md': 5,
  'ops/README.md': 2,
}

const isWindows = process.platform === 'win32'

const withShell = documents.filter(({ blocks }) => blocks.some(({ kind }) => kind === 'shell'))

test.skipIf(isWindows).each(withShell)(
  'every block of $path runs and prints the documented output',
  async ({ path, blocks }) => {
    const before = projectFiles()
    const runner = await DocumentRunner.create()
    try {
      const startsServer = blocks.some((block) => block.kind === 'shell' && block.runsOn !== undefined)
      if (!startsServer) await runner.startServer()
      for (const block of blocks) {
        const where = `${path}:${block.line}`
        try {
          if (block.kind === 'quote') continue
          if (block.kind === 'file') runner.writeFile(block.name, block.text)
          else if (block.notRun !== undefined) continue
          else if (!(await runner.run(block))) console.warn(`SKIPPED, not passed: ${where} needs ${block.needs}`)
        } catch (error) {
          throw new Error(`${where}\n${block.text}\n\n${(error as Error).message}`)
        }
      }
    } finally {
      await runner.close()
    }
    expect(projectFiles()).toEqual(before)
  },
  300_000,
)

test.each(documents)('each block of $path that is not run has a reason', ({ path, blocks }) => {
  const reasons = blocks.flatMap((block) => (block.kind === 'shell' ? (block.notRun ?? []) : []))
  expect(reasons).toHaveLength(notRunCounts[path] ?? 0)
  for (const reason of reasons) expect(reason).toMatch(/\w+ \w+ \w+/)
})

const quotes = documents.flatMap(({ path, blocks }) =>
  blocks.flatMap((block) => (block.kind === 'quote' ? { ...block, where: `${path}:${block.line}` } : [])),
)

test.each(quotes)('the block at $where equals the text in $path', ({ path, text }) => {
  expect(readFileSync(join(projectRoot, path), 'utf8')).toContain(`${text}\n`)
})

test('several documents have commands', () => {
  expect(withShell.map(({ path }) => path)).toContain('README.md')
  expect(withShell.length).toBeGreaterThan(3)
})

/** The files of the project except builds and version control, with their times. Tests must not change them. */
function projectFiles(): string[] {
  return readdirSync(projectRoot)
    .filter((name) => !/^(dist|node_modules|\.git)$/.test(name))
    .map((name) => `${name} ${statSync(join(projectRoot, name)).mtimeMs}`)
}

describe('a document', () => {
  const document = [
    '```sh',
    'echo first',
    '```',
    '',
    '```text',
    'first',
    '```',
    '',
    '<!-- not run: it needs a cluster -->',
    '```sh',
    'deploy',
    '```',
    'Words.',
    '',
    '```text',
    'not printed by a block',
    '```',
    '<!-- file: a.mjs -->',
    '```js',
    'run()',
    '```',
    '',
    '<!-- needs: g++ -->',
    '<!-- runs on: ready -->',
    '  ```sh',
    '  npm start',
    '  ```',
    '',
    '```js',
    'no.shell()',
    '```',
    '<!-- from: src/a.ts -->',
    '```ts',
    'quoted()',
    '```',
  ].join('\n')
  const plain = { kind: 'shell', notRun: undefined, needs: undefined, runsOn: undefined, printed: undefined }

  test('has its blocks in order, with their comments', () => {
    expect(blocksOf(document)).toEqual([
      { ...plain, line: 1, text: 'echo first', printed: 'first' },
      { ...plain, line: 10, text: 'deploy', notRun: 'it needs a cluster' },
      { kind: 'file', line: 19, name: 'a.mjs', text: 'run()' },
      { ...plain, line: 25, text: 'npm start', needs: 'g++', runsOn: 'ready' },
      { kind: 'quote', line: 33, path: 'src/a.ts', text: 'quoted()' },
    ])
  })

  test.each([
    ['the same text', 'a\nb', 'a\nb', true],
    ['the text within other lines', 'x\na\nb\ny', 'a\nb', true],
    ['another line between', 'a\nx\nb', 'a\nb', false],
    ['any line between', 'a\nx\ny\nb', 'a\n…\nb', true],
    ['part of a line', 'xa', 'a', false],
    ['anything within a line', '{"token":"abc","n":1}', '{"token":"…","n":1}', true],
    ['anything, but not over lines', '{"token":"a\nb"}', '{"token":"…"}', false],
    ['a time', '{"at":1795249409046}', '{"at":1700000000000}', true],
    ['another number', '{"at":17}', '{"at":18}', false],
    ['special characters', '[1.5] (x)?', '[1.5] (x)?', true],
    ['special characters without a meaning', '[1x5] (x)?', '[1.5] (x)?', false],
    ['space at the end', 'a  \nb', 'a\nb', true],
  ])('is compared with the output: %s', (_, output, printed, isMatch) => {
    expect(isPrinted(output, printed)).toBe(isMatch)
  })
})
