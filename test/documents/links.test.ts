import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { expect, test } from 'vitest'
import { projectRoot } from '#bench/project-root'

/** Links between documents must lead to existing files and headings. */

const documents = [
  ...readdirSync(projectRoot).filter((name) => name.endsWith('.md')),
  ...readdirSync(join(projectRoot, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
]

test.each(documents)('the links in %s lead to files and headings', (path) => {
  expect(linksOf(read(path)).flatMap((link) => errorsOf(path, link))).toEqual([])
})

test('a broken link is found', () => {
  expect(linksOf('[a](x.md#b), ![c](d.png) `[no](link)` [e](#f)')).toEqual(['x.md#b', 'd.png', '#f'])
  expect(anchorsOf('# A *b* `c.d`, e\n## Twice\n## Twice\n```sh\n# no heading\n```')).toEqual([
    'a-b-cd-e',
    'twice',
    'twice-1',
  ])
  expect(errorsOf('README.md', 'docs/nowhere.md')).toHaveLength(1)
  expect(errorsOf('README.md', 'docs/api.md#nowhere')).toHaveLength(1)
  expect(errorsOf('docs/api.md', '#conventions')).toEqual([])
})

function read(path: string): string {
  return readFileSync(join(projectRoot, path), 'utf8')
}

/** The relative links in the text. */
function linksOf(text: string): string[] {
  const links = withoutCode(text).matchAll(/\]\(([^()\s]+)\)|<(?:img|source|a)\b[^>]*?(?:src|srcset|href)="([^"]+)"/g)
  return [...links].map(([, link, attribute]) => link ?? attribute ?? '').filter((link) => !/^[a-z]+:/.test(link))
}

function errorsOf(path: string, link: string): string[] {
  const [file = '', anchor] = link.split('#')
  const target = file === '' ? path : relative(projectRoot, join(projectRoot, dirname(path), file))
  if (!existsSync(join(projectRoot, target))) return [`${link}: ${target} does not exist`]
  if (anchor === undefined || anchorsOf(read(target)).includes(anchor)) return []
  return [`${link}: no such heading in ${target}`]
}

/** The anchors that GitHub makes from headings. */
function anchorsOf(text: string): string[] {
  const counts = new Map<string, number>()
  return [...text.replace(/^ *```[\s\S]*?^ *```$/gm, '').matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = '']) => {
    const anchor = heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-')
    const times = counts.get(anchor) ?? 0
    counts.set(anchor, times + 1)
    return times === 0 ? anchor : `${anchor}-${times}`
  })
}

function withoutCode(text: string): string {
  return text.replace(/^ *```[\s\S]*?^ *```$/gm, '').replace(/`[^`\n]*`/g, '')
}
