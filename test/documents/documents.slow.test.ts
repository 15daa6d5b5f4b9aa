import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { projectRoot } from '#bench/project-root'
import { blocksOf, isPrinted } from '#test/documents/document'
import { Reader } from '#test/documents/reader'

/**
 * What the README and the guides tell people to type does what they say. Each document is gone through as a reader would
 * go through it, block by block, against a server of its own.
 */
const documents = [
  'README.md',
  'CONTRIBUTING.md',
  'ops/README.md',
  ...readdirSync(join(projectRoot, 'docs')).map((name) => `docs/${name}`),
]
  .filter((path) => path.endsWith('.md'))
  .map((path) => ({ path, blocks: blocksOf(readFileSync(join(projectRoot, path), 'utf8')) }))

/** How many blocks a document may leave out, each with its reason beside it. */
const notRunIn: Readonly<Record<string, number>> = {
  'README.md': 1,
  'CONTRIBUTING.md': 5,
  'docs/client.md': 1,
  'docs/operator-guide.md': 2,
  'ops/README.md': 1,
}

const isWindows = process.platform === 'win32'

const withShell = documents.filter(({ blocks }) => blocks.some(({ kind }) => kind === 'shell'))

test.skipIf(isWindows).each(withShell)(
  '$path: every block is run, and prints what it is said to',
  async ({ path, blocks }) => {
    const before = topOfProject()
    const reader = await Reader.arrive()
    try {
      const brings = blocks.some((block) => block.kind === 'shell' && block.runsOn !== undefined)
      if (!brings) await reader.findServer()
      for (const block of blocks) {
        const where = `${path}:${block.line}`
        try {
          if (block.kind === 'quote') continue
          if (block.kind === 'file') reader.writeFile(block.name, block.text)
          else if (block.notRun !== undefined) continue
          else if (!(await reader.run(block))) console.warn(`SKIPPED, not passed: ${where} needs ${block.needs}`)
        } catch (error) {
          throw new Error(`${where}\n${block.text}\n\n${(error as Error).message}`)
        }
      }
    } finally {
      await reader.leave()
    }
    expect(topOfProject()).toEqual(before)
  },
  300_000,
)

test.each(documents)('$path leaves out what it has to, and says why', ({ path, blocks }) => {
  const reasons = blocks.flatMap((block) => (block.kind === 'shell' ? (block.notRun ?? []) : []))
  expect(reasons).toHaveLength(notRunIn[path] ?? 0)
  for (const reason of reasons) expect(reason).toMatch(/\w+ \w+ \w+/)
})

const quotes = documents.flatMap(({ path, blocks }) =>
  blocks.flatMap((block) => (block.kind === 'quote' ? { ...block, where: `${path}:${block.line}` } : [])),
)

test.each(quotes)('$where says what $path says', ({ path, text }) => {
  expect(readFileSync(join(projectRoot, path), 'utf8')).toContain(`${text}\n`)
})

test('there is something to run', () => {
  expect(withShell.map(({ path }) => path)).toContain('README.md')
  expect(withShell.length).toBeGreaterThan(3)
})

/** Beside the build, which whoever runs this may have to do, and version control. */
function topOfProject(): string[] {
  return readdirSync(projectRoot)
    .filter((name) => !/^(dist|node_modules|\.git)$/.test(name))
    .map((name) => `${name} ${statSync(join(projectRoot, name)).mtimeMs}`)
}

describe('what a document says', () => {
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
    'nobody prints this',
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

  test('is read in its order, with the notes in front of each block', () => {
    expect(blocksOf(document)).toEqual([
      { ...plain, line: 1, text: 'echo first', printed: 'first' },
      { ...plain, line: 10, text: 'deploy', notRun: 'it needs a cluster' },
      { kind: 'file', line: 19, name: 'a.mjs', text: 'run()' },
      { ...plain, line: 25, text: 'npm start', needs: 'g++', runsOn: 'ready' },
      { kind: 'quote', line: 33, path: 'src/a.ts', text: 'quoted()' },
    ])
  })

  test.each([
    ['the same', 'a\nb', 'a\nb', true],
    ['more around it', 'x\na\nb\ny', 'a\nb', true],
    ['another line between', 'a\nx\nb', 'a\nb', false],
    ['any line between', 'a\nx\ny\nb', 'a\n…\nb', true],
    ['part of a line', 'xa', 'a', false],
    ['anything within a line', '{"token":"abc","n":1}', '{"token":"…","n":1}', true],
    ['anything, but not over lines', '{"token":"a\nb"}', '{"token":"…"}', false],
    ['a time', '{"at":1795249409046}', '{"at":1700000000000}', true],
    ['another number', '{"at":17}', '{"at":18}', false],
    ['signs', '[1.5] (x)?', '[1.5] (x)?', true],
    ['signs that are none', '[1x5] (x)?', '[1.5] (x)?', false],
    ['space at the end', 'a  \nb', 'a\nb', true],
  ])('is printed or not: %s', (_, output, printed, is) => {
    expect(isPrinted(output, printed)).toBe(is)
  })
})
