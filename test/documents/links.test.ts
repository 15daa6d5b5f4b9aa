import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { expect, test } from 'vitest'
import { projectRoot } from '#bench/project-root'

/** Links between the documents lead somewhere: to a file that is there, and to a heading in it. */
const documents = [
  ...readdirSync(projectRoot).filter((name) => name.endsWith('.md')),
  ...readdirSync(join(projectRoot, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
]

test.each(documents)('%s', (path) => {
  expect(linksOf(read(path)).flatMap((link) => faultOf(path, link))).toEqual([])
})

test('a link that leads nowhere is found', () => {
  expect(linksOf('[a](x.md#b), ![c](d.png) `[no](link)` [e](#f)')).toEqual(['x.md#b', 'd.png', '#f'])
  expect(anchorsOf('# A *b* `c.d`, e\n## Twice\n## Twice\n```sh\n# no heading\n```')).toEqual([
    'a-b-cd-e',
    'twice',
    'twice-1',
  ])
  expect(faultOf('README.md', 'docs/nowhere.md')).toHaveLength(1)
  expect(faultOf('README.md', 'docs/api.md#nowhere')).toHaveLength(1)
  expect(faultOf('docs/api.md', '#conventions')).toEqual([])
})

function read(path: string): string {
  return readFileSync(join(projectRoot, path), 'utf8')
}

/** Those that are not addresses. */
function linksOf(text: string): string[] {
  const links = withoutCode(text).matchAll(/\]\(([^()\s]+)\)|<(?:img|source|a)\b[^>]*?(?:src|srcset|href)="([^"]+)"/g)
  return [...links].map(([, link, attribute]) => link ?? attribute ?? '').filter((link) => !/^[a-z]+:/.test(link))
}

function faultOf(path: string, link: string): string[] {
  const [file = '', anchor] = link.split('#')
  const target = file === '' ? path : relative(projectRoot, join(projectRoot, dirname(path), file))
  if (!existsSync(join(projectRoot, target))) return [`${link}: there is no ${target}`]
  if (anchor === undefined || anchorsOf(read(target)).includes(anchor)) return []
  return [`${link}: no such heading in ${target}`]
}

/** As GitHub makes them of headings. */
function anchorsOf(text: string): string[] {
  const seen = new Map<string, number>()
  return [...text.replace(/^ *```[\s\S]*?^ *```$/gm, '').matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = '']) => {
    const anchor = heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-')
    const times = seen.get(anchor) ?? 0
    seen.set(anchor, times + 1)
    return times === 0 ? anchor : `${anchor}-${times}`
  })
}

function withoutCode(text: string): string {
  return text.replace(/^ *```[\s\S]*?^ *```$/gm, '').replace(/`[^`\n]*`/g, '')
}
