import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { defineConfig, type Plugin } from 'vite'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const read = (path: string) => readFileSync(root + path, 'utf8')

/**
 * Builds the package `device-data-client` into `dist/device-data-client`: modules for bundlers and Node. With
 * `--mode script`, builds one script for pages without a bundler, which defines `deviceData`.
 */
export default defineConfig(({ mode }) => {
  const isScript = mode === 'script'
  return {
    root,
    publicDir: false,
    resolve: { alias: [{ find: /^#(client|model)\//, replacement: `${root}src/$1/` }] },
    // A script has no `import.meta`, which only Node uses.
    define: isScript ? { 'import.meta.url': '""' } : {},
    plugins: isScript ? [] : [packageFiles()],
    build: {
      outDir: `${root}dist/device-data-client`,
      emptyOutDir: !isScript,
      target: 'es2022',
      reportCompressedSize: false,
      minify: isScript,
      lib: isScript
        ? { entry: `${root}src/client/client.ts`, formats: ['iife'], name: 'deviceData', fileName: () => 'script.js' }
        : {
            entry: { client: `${root}src/client/client.ts`, react: `${root}src/client/package/react.ts` },
            formats: ['es'],
            fileName: (_, name) => `${name}.js`,
          },
      rolldownOptions: { external: ['react'] },
    },
  }
})

/** Adds `package.json`, the readme, the license, and the declarations that the compiler wrote. */
function packageFiles(): Plugin {
  return {
    name: 'package-files',
    generateBundle(_options, _bundle, isWritten) {
      if (!isWritten) return
      const add = (fileName: string, source: string) => this.emitFile({ type: 'asset', fileName, source })
      add('package.json', `${JSON.stringify(description(), undefined, 2)}\n`)
      add('README.md', read('src/client/package/readme.md'))
      add('LICENSE', read('LICENSE'))
      for (const [name, declarations] of declarationsFrom(['client', 'react'])) add(`types/${name}.d.ts`, declarations)
    },
  }
}

function description() {
  const { version, license, engines } = JSON.parse(read('package.json'))
  return {
    name: 'device-data-client',
    version,
    description:
      'The client library of the Device Data Backend: typed calls, sessions, and the live state of all devices.',
    license,
    type: 'module',
    sideEffects: false,
    engines,
    exports: {
      '.': { types: './types/client.d.ts', default: './client.js' },
      './react': { types: './types/react.d.ts', default: './react.js' },
      './script.js': './script.js',
      './package.json': './package.json',
    },
    unpkg: './script.js',
    jsdelivr: './script.js',
    peerDependencies: { react: '>=18', ws: '>=8' },
    peerDependenciesMeta: { react: { optional: true }, ws: { optional: true } },
  }
}

/** By name: the declarations of these files and of the files that they import. Their imports become relative paths. */
function declarationsFrom(names: readonly string[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  const waiting = [...names]
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (found.has(name)) continue
    const isOwn = name === 'react' || name === 'declarations'
    const written = read(`dist/client-types/src/client/${isOwn ? 'package/' : ''}${name}.d.ts`)
    const relative = (name === 'declarations' ? selfContained(written) : written).replace(
      /(from )'#(client|model)\/([\w-]+)'/g,
      (_, from, module, file) => `${from}'./${fileOf(module, file)}.js'`,
    )
    found.set(name, relative)
    for (const [, imported = ''] of relative.matchAll(/from [']\.\/([\w-]+)\.js/g)) waiting.push(imported)
  }
  return found
}

function fileOf(module: string, file: string): string {
  return module === 'model' || file === 'route-table' ? 'declarations' : file
}

/** The compiler writes some types as imports of the model; this file declares types of the same names. */
function selfContained(declarations: string): string {
  return declarations.replace(/import\("[^"]*"\)\./g, '')
}
