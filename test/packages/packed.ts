import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/** A package that npm packed, as users get it. */
export interface Packed {
  readonly file: string
  readonly bytes: number
  readonly paths: readonly string[]
}

/** An empty project, into which packages are installed. */
export class EmptyProject {
  readonly folder = mkdtempSync(join(tmpdir(), 'project-'))

  constructor() {
    this.write('package.json', '{ "private": true, "type": "module" }')
  }

  write(path: string, text: string): string {
    const whole = join(this.folder, path)
    mkdirSync(dirname(whole), { recursive: true })
    writeFileSync(whole, text)
    return whole
  }

  /** Packs the package in `folder` into this project. */
  pack(folder: string): Packed {
    const output = npm(folder, 'pack', '--json', '--pack-destination', this.folder)
    const described: unknown = JSON.parse(output)
    // A list, or since npm 12 an object by name.
    const [packed] = Object.values(described as Record<string, PackedByNpm>)
    if (!packed) throw new Error(`npm packed nothing: ${output}`)
    return {
      file: join(this.folder, packed.filename),
      bytes: packed.size,
      paths: packed.files.map(({ path }) => path),
    }
  }

  install(...line: readonly string[]): void {
    npm(this.folder, 'install', '--no-audit', '--no-fund', ...line)
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true })
  }
}

interface PackedByNpm {
  readonly filename: string
  readonly size: number
  readonly files: readonly { readonly path: string }[]
}

/** @throws Error with the output of npm when it fails */
function npm(cwd: string, ...line: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync('npm', line, {
    cwd,
    env: outsideEnvironment(),
    encoding: 'utf8',
    shell: process.platform === 'win32',
  })
  if (status !== 0) throw new Error(`npm ${line.join(' ')}: ${stderr}${stdout}`)
  return stdout
}

/** Without the variables that npm sets for a script of this project. */
export function outsideEnvironment(): NodeJS.ProcessEnv {
  const ofScript =
    /^(npm_(lifecycle|package|command|node_execpath|execpath|config_local_prefix)|INIT_CWD$|NODE_OPTIONS$)/
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !ofScript.test(name)))
}

/** The executable of this major version: the running one, or one of the registry. Otherwise the reason for a skip. */
export function nodeOf(major: number, project: EmptyProject): { readonly path: string } | { readonly reason: string } {
  if (process.versions.node.startsWith(`${major}.`)) return { path: process.execPath }
  const name = `node-${process.platform}-${process.arch}`
  const folder = `nodes/${major}`
  project.write(`${folder}/package.json`, '{}')
  const path = join(project.folder, folder, 'node_modules', name, 'bin/node')
  try {
    npm(join(project.folder, folder), 'install', '--no-audit', '--no-fund', '--ignore-scripts', `${name}@${major}`)
  } catch (error) {
    if (process.env.CI) throw error
  }
  return existsSync(path)
    ? { path }
    : { reason: `SKIPPED, not passed: Node ${major} is not there (npm install ${name}@${major})` }
}
