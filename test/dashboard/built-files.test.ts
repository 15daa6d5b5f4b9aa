import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { projectRoot } from '#bench/project-root'

const pages = join(projectRoot, 'src/dashboard/pages')
const built = join(projectRoot, 'dist/pages/dashboard')

/** The first class of each selector, as `.filters` for `.filters > *`. */
function classesIn(file: string): ReadonlySet<string> {
  const rules = readFileSync(join(pages, file), 'utf8').replace(/\/\*[\s\S]*?\*\//g, '')
  const selectors = [...rules.matchAll(/([^{}]+)\{/g)].flatMap(([, list = '']) => list.split(','))
  return new Set(selectors.flatMap((selector) => /^\s*(\.[\w-]+)/.exec(selector)?.[1] ?? []))
}

test('no class has styles in two pages, because all styles are bundled and the later one would win', () => {
  const files = readdirSync(pages, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.css'))
  expect(files.length).toBeGreaterThan(5)
  const repeated = files.flatMap((file, place) => {
    const others = files.slice(place + 1).map((other) => [other, classesIn(other)] as const)
    return [...classesIn(file)].flatMap((name) =>
      others.filter(([, classes]) => classes.has(name)).map(([other]) => `${name} in ${file} and ${other}`),
    )
  })
  expect(repeated).toEqual([])
})

/** The limit for all pages of the dashboard together, compressed. */
const bytesMax = 150 * 1024

test('the whole dashboard is at most 150 KiB compressed', () => {
  const files = readdirSync(built, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.(html|js|css|svg)$/.test(name),
  )
  // There are at least the page, the script and the styles.
  expect(files.length).toBeGreaterThan(3)
  const bytes = files.reduce((sum, name) => sum + gzipSync(readFileSync(join(built, name)), { level: 9 }).byteLength, 0)
  expect(bytes).toBeLessThanOrEqual(bytesMax)
})
