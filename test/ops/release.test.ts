import { spawnSync } from 'node:child_process'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { projectRoot } from '#bench/project-root'
import { version } from '#model/version'
import { valuesOf } from '#test/ops/image'
import { folderOfTest } from '#test/temporary-folder'

/** What `npm version` changes besides package.json. */

let folder: string
const read = (path: string) => readFileSync(join(folder, path), 'utf8')
const files = ['src/model/version.ts', 'ops/kubernetes/kustomization.yaml', 'CHANGELOG.md']

beforeEach(() => {
  folder = folderOfTest()
  for (const path of files) cpSync(join(projectRoot, path), join(folder, path))
  writeFileSync(join(folder, 'package.json'), '{ "version": "9.8.7" }')
})

const release = () =>
  spawnSync(process.execPath, [join(projectRoot, 'ops/release.mjs')], { cwd: folder, encoding: 'utf8' })

test('every file gets the new version, and the changelog a dated heading below an empty one', () => {
  const before = read('CHANGELOG.md')
  expect([release().status, release().status]).toEqual([0, 1])
  expect(read('src/model/version.ts')).toContain("version = '9.8.7'\n")
  expect(read('ops/kubernetes/kustomization.yaml')).toContain('newTag: 9.8.7\n')
  const added = /## Unreleased\n\n## 9\.8\.7, \d{4}-\d\d-\d\d\n\n/
  expect(read('CHANGELOG.md')).toMatch(added)
  expect(read('CHANGELOG.md').replace(added, '## Unreleased\n\n')).toBe(before)
})

test('package.json, the server and the manifests have one version', () => {
  const { version: ofPackage } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8'))
  expect(version).toBe(ofPackage)
  expect(read('ops/kubernetes/kustomization.yaml')).toContain(`newTag: ${ofPackage}\n`)
})

test('the image has the labels of the OCI, with the version and the commit of its build', () => {
  const labels = valuesOf('LABEL')
  expect(labels).toMatchObject({
    'org.opencontainers.image.version': '$VERSION',
    'org.opencontainers.image.revision': '$REVISION',
    'org.opencontainers.image.licenses': JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')).license,
  })
  for (const name of ['title', 'description']) expect(labels[`org.opencontainers.image.${name}`]).toMatch(/\w+ \w+/)
})
