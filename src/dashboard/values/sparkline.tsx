import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { client } from '#dashboard/session'
import { theme } from '#dashboard/theme'
import type { PointBuffer } from '#dashboard/values/point-buffer'

export interface SparklineProps {
  readonly points: PointBuffer
  /** Grows with every point, and triggers a redraw. */
  readonly version: number
  /** The accessible description. */
  readonly label: string
  /** With axes, in the available width. */
  readonly isLarge?: boolean | undefined
}

const small = { width: 132, height: 30 }
const largeHeight = 280

/** A number over time, since the page was opened. */
export function Sparkline({ points, version, label, isLarge }: SparklineProps) {
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>()
  const currentTheme = theme.value
  useEffect(() => {
    const element = place.current
    if (!element) return undefined
    const size = isLarge ? { width: element.clientWidth, height: largeHeight } : small
    const chart = new uPlot(optionsOf(element, size, isLarge === true), pointsUntilNow(points), element)
    plot.current = chart
    const resized = isLarge
      ? new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height: largeHeight }))
      : undefined
    resized?.observe(element)
    return () => {
      resized?.disconnect()
      chart.destroy()
      plot.current = undefined
    }
  }, [points, isLarge, currentTheme])
  useEffect(() => plot.current?.setData(pointsUntilNow(points)), [version])
  return <div ref={place} class={isLarge ? 'chart' : 'sparkline'} role="img" aria-label={label} />
}

function optionsOf(element: HTMLElement, size: { width: number; height: number }, isLarge: boolean): uPlot.Options {
  const colour = (name: string) => colourOf(element, name)
  const axis = { stroke: colour('--soft'), grid: { stroke: colour('--line'), width: 1 }, ticks: { show: false } }
  const times: uPlot.Axis = {
    ...axis,
    space: 80,
    values: (_, splits) => splits.map((seconds) => new Date(seconds * 1_000).toLocaleTimeString()),
  }
  return {
    ...size,
    cursor: { show: isLarge },
    legend: { show: false },
    padding: isLarge ? [12, 12, 0, 0] : [3, 3, 3, 3],
    axes: isLarge ? [times, { ...axis, size: 64 }] : [{ show: false }, { show: false }],
    scales: { y: { range: paddedRange } },
    series: [
      {},
      {
        stroke: colour('--accent'),
        width: 1.5,
        points: { show: isLarge },
        ...(!isLarge && { fill: colour('--accent').replace(/^rgb\((.*)\)$/, 'rgb($1, 13%)') }),
      },
    ],
  }
}

/** `rgb(11, 92, 114)`: the colour of a token in the current theme. */
function colourOf(element: HTMLElement, name: string): string {
  element.style.color = `var(${name})`
  const { color } = getComputedStyle(element)
  element.style.color = ''
  return color
}

/** The last value is extended until now: a constant number is a line too. */
function pointsUntilNow(points: PointBuffer): [number[], number[]] {
  const [times, values] = points.points()
  const last = values.at(-1)
  const at = client.now() / 1_000
  if (last === undefined || at <= (times.at(-1) ?? 0)) return [times, values]
  return [
    [...times, at],
    [...values, last],
  ]
}

/** A constant value is a line in the middle. */
function paddedRange(_: unknown, min: number, max: number): [number, number] {
  const padding = max === min ? Math.abs(max) * 0.1 || 1 : (max - min) * 0.1
  return [min - padding, max + padding]
}
