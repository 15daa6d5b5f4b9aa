import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { commitOf } from '#bench/harness/machine'
import { projectRoot } from '#bench/project-root'

let root: string

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'machine-'))
  mkdirSync(join(root, 'src'))
  copyFileSync(join(projectRoot, 'src/launch.cjs'), join(root, 'src/launch.cjs'))
  write('src/main.ts', 'one')
  write('.gitignore', 'dist\n')
  git('init', '--quiet')
  git('add', '.')
  git('commit', '--quiet', '--message', 'First')
  build()
})

afterEach(() => rmSync(root, { recursive: true, force: true }))

function write(path: string, text: string): void {
  writeFileSync(join(root, path), text)
}

function git(...line: string[]): string {
  const who = ['-c', 'user.name=A', '-c', 'user.email=a@example.com', '-c', 'commit.gpgsign=false']
  return execFileSync('git', [...who, ...line], { cwd: root, encoding: 'utf8' }).trim()
}

/** The launcher's stamp, by its own code, with a compiler that does nothing. */
function build(): void {
  mkdirSync(join(root, 'node_modules/typescript/bin'), { recursive: true })
  write('node_modules/typescript/bin/tsc', '')
  mkdirSync(join(root, 'dist'), { recursive: true })
  const { build: run } = createRequire(import.meta.url)(join(root, 'src/launch.cjs')) as { build: () => void }
  run()
}

const head = () => git('rev-parse', '--short', 'HEAD')

test('a clean tree, built: its commit', () => {
  expect(commitOf(root)).toBe(head())
})

test('what is not built from does not matter', () => {
  write('README.md', 'new')
  expect(commitOf(root)).toBe(head())
})

test.each([
  ['a source that was changed', 'src/main.ts'],
  ['a source that nobody committed', 'src/other.ts'],
  ['a setting of the compiler', 'tsconfig.json'],
])('%s, built: + changes', (_, path) => {
  write(path, 'two')
  build()
  expect(commitOf(root)).toBe(`${head()} + changes`)
})

test('a source that was changed since it was built', () => {
  write('src/main.ts', 'two')
  expect(commitOf(root)).toBe(`${head()} + changes, but what was built is something else`)
})

test('a commit that nobody built', () => {
  write('src/main.ts', 'two')
  git('commit', '--quiet', '--all', '--message', 'Second')
  expect(commitOf(root)).toBe(`${head()}, but what was built is something else`)
})

test('changes that were built and taken back', () => {
  write('src/main.ts', 'two')
  build()
  git('checkout', '--quiet', '.')
  expect(commitOf(root)).toBe(`${head()}, but what was built is something else`)
})

test('no git: unknown', () => {
  rmSync(join(root, '.git'), { recursive: true })
  expect(commitOf(root)).toBe('unknown')
})
