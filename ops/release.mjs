// Writes the new version into the files that contain it, and dates the changelog. Runs within `npm version`, after that
// has changed package.json and before it commits and tags.
import { readFileSync, writeFileSync } from 'node:fs'

const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
const date = new Date().toISOString().slice(0, 10)

replace('src/model/version.ts', /'\d+\.\d+\.\d+[^']*'/, `'${version}'`)
replace('ops/kubernetes/kustomization.yaml', /newTag: .*/, `newTag: ${version}`)
replace('CHANGELOG.md', /^## Unreleased\n(?=\n+\S)(?!\n+## )/m, `## Unreleased\n\n## ${version}, ${date}\n`)

function replace(file, pattern, text) {
  const content = readFileSync(file, 'utf8')
  if (!pattern.test(content)) throw new Error(`${file}: nothing to release, ${pattern} was not found`)
  writeFileSync(file, content.replace(pattern, text))
}
