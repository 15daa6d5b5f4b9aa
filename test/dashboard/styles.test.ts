import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { projectRoot } from '#bench/project-root'

const folder = join(projectRoot, 'src/dashboard/pages')

/** The first class of each selector, as `.filters` for `.filters > *`. */
function classesIn(file: string): ReadonlySet<string> {
  const rules = readFileSync(join(folder, file), 'utf8').replace(/\/\*[\s\S]*?\*\//g, '')
  const selectors = [...rules.matchAll(/([^{}]+)\{/g)].flatMap(([, list = '']) => list.split(','))
  return new Set(selectors.flatMap((selector) => /^\s*(\.[\w-]+)/.exec(selector)?.[1] ?? []))
}

test('no class has styles in two pages, because all styles are bundled and the later one would win', () => {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.css'))
  expect(files.length).toBeGreaterThan(5)
  const repeated = files.flatMap((file, place) => {
    const others = files.slice(place + 1).map((other) => [other, classesIn(other)] as const)
    return [...classesIn(file)].flatMap((name) =>
      others.filter(([, classes]) => classes.has(name)).map(([other]) => `${name} in ${file} and ${other}`),
    )
  })
  expect(repeated).toEqual([])
})
