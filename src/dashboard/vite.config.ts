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
    // Many small files compress worse than few: looks in one, what several pages are made of in another, and pages that
    // lead to each other together.
    cssCodeSplit: false,
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            {
              name: 'parts',
              test: /src[\\/](client|dashboard[\\/](address|binding|commands|conditions|kept|parts|session|state|values[\\/](?!sparkline)|world))/,
            },
            { name: 'firmware', test: /dashboard[\\/]pages[\\/]firmware/ },
            { name: 'functions', test: /dashboard[\\/]pages[\\/]functions/ },
            { name: 'alarms', test: /dashboard[\\/]pages[\\/](alarms|notifications)/ },
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
