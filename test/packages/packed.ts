import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

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
  async pack(folder: string): Promise<Packed> {
    const output = await npm(folder, 'pack', '--json', '--pack-destination', this.folder)
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

  async install(...line: readonly string[]): Promise<void> {
    await npm(this.folder, 'install', '--no-audit', '--no-fund', ...line)
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

/**
 * Runs npm while the event loop goes on. Otherwise, the next request would go to a connection that the server has closed.
 *
 * @returns the output
 * @throws Error with the output of npm when it fails
 */
async function npm(cwd: string, ...line: readonly string[]): Promise<string> {
  const options = { cwd, env: outsideEnvironment(), shell: process.platform === 'win32', maxBuffer: 2 ** 24 }
  const { stdout } = await promisify(execFile)('npm', line, options)
  return stdout
}

/** Without the variables that npm sets for a script of this project. */
export function outsideEnvironment(): NodeJS.ProcessEnv {
  const ofScript =
    /^(npm_(lifecycle|package|command|node_execpath|execpath|config_local_prefix)|INIT_CWD$|NODE_OPTIONS$)/
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !ofScript.test(name)))
}

/** The executable of this major version: the running one, or one of the registry. Otherwise the reason for a skip. */
export async function nodeOf(
  major: number,
  project: EmptyProject,
): Promise<{ readonly path: string } | { readonly reason: string }> {
  if (process.versions.node.startsWith(`${major}.`)) return { path: process.execPath }
  const name = `node-${process.platform}-${process.arch}`
  const folder = `nodes/${major}`
  project.write(`${folder}/package.json`, '{}')
  const path = join(project.folder, folder, 'node_modules', name, 'bin/node')
  try {
    await npm(
      join(project.folder, folder),
      'install',
      '--no-audit',
      '--no-fund',
      '--ignore-scripts',
      `${name}@${major}`,
    )
  } catch (error) {
    if (process.env.CI) throw error
  }
  return existsSync(path)
    ? { path }
    : { reason: `SKIPPED, not passed: Node ${major} is not there (npm install ${name}@${major})` }
}
