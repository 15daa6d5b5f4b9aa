import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

const here = fileURLToPath(new URL('.', import.meta.url))
const root = fileURLToPath(new URL('../../', import.meta.url))

/** The dashboard's own files, in `dist/pages/dashboard`: a page, and assets whose names hold a hash of their content. */
export default defineConfig({
  root: here,
  base: './',
  publicDir: false,
  cacheDir: `${root}node_modules/.vite-dashboard`,
  resolve: {
    alias: [
      { find: /^#dashboard\//, replacement: here },
      { find: /^#(client|model)\//, replacement: `${root}src/$1/` },
    ],
  },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: `${root}dist/pages/dashboard`,
    emptyOutDir: true,
    assetsDir: 'assets',
    // Nothing inline: the page's content security policy takes nothing but files of its own server.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: ['chrome111', 'firefox114', 'safari16.4'],
    reportCompressedSize: false,
    // Many small files compress worse than few: looks in one, and what several pages are made of in another.
    cssCodeSplit: false,
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            {
              name: 'parts',
              test: /src[\\/](client|dashboard[\\/](binding|conditions|parts|session|state|values[\\/](?!sparkline)|world))/,
            },
          ],
        },
      },
    },
  },
  server: {
    // `vite` itself, for who works on the dashboard: the API of a server that runs beside it.
    proxy: { '/api': { target: 'http://127.0.0.1:8080', ws: true } },
  },
})
