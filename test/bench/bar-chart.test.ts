import { expect, test } from 'vitest'
import { barChart } from '#bench/harness/bar-chart'

test('bars are as long as their values, with names and texts as they are', () => {
  const chart = barChart('A < B & "C"', [
    { name: 'this', value: 100, text: '100', isOwn: true },
    { name: 'a & b', value: 25, text: '25 <', isOwn: false },
    { name: 'nothing', value: 0, text: '0', isOwn: false },
  ])
  const widths = [...chart.matchAll(/<rect [^>]*width="(\d+)"[^>]*class="(\w+)"/g)]
  const [full = 0, quarter = 0, none = 0] = widths.map(([, width]) => Number(width))
  expect([full / quarter, none]).toEqual([4, 1])
  expect(widths.map(([, , kind]) => kind)).toEqual(['own', 'other', 'other'])
  expect(chart).toContain('<title>A &lt; B &amp; &quot;C&quot;</title>')
  expect(chart).toContain('>a &amp; b</text>')
  expect(chart).toContain('>25 &lt;</text>')
})
