import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { useObservable } from '#dashboard/components/use-observable'
import { axisLimits, type ChartData } from '#dashboard/history/chart-data'
import { type Edges, tickText } from '#dashboard/history/span'
import { theme } from '#dashboard/theme'
import { numberText } from '#dashboard/values/format-value'

export interface Threshold {
  readonly value: number
  readonly label: string
}

interface PlotMark {
  readonly time: number
  readonly isError: boolean
}

export interface PlotProps {
  readonly data: ChartData
  /**
   * One for each series of the data: the token of its colour, and its unit. Series with the same unit share an axis.
   */
  readonly lines: readonly { readonly colour: string; readonly unit: string }[]
  readonly edges: Edges
  readonly marks: readonly PlotMark[]
  readonly gaps: readonly Edges[]
  readonly thresholds: readonly Threshold[]
  readonly label: string
  readonly onZoom: (edges: Edges) => void
  readonly onBack: () => void
  /** Called with the index of the data below the pointer. */
  readonly onPoint: (place: number | undefined) => void
}

const height = 240
const dragPxMin = 6
/** Patterns that distinguish the lines without colour. */
const dashes = [[], [8, 4], [2, 3], [12, 4, 2, 4], [5, 5], [1, 4]]

/** Lines of averages in bands from minimum to maximum. Dragging chooses a span, a double click goes back. */
export function Plot(props: PlotProps) {
  const place = useRef<HTMLDivElement>(null)
  const chart = useRef<uPlot>()
  const latest = useRef(props)
  latest.current = props
  const { lines, data, edges, marks, gaps, thresholds, label } = props
  const structure = JSON.stringify([lines, useObservable(theme)])
  useEffect(() => {
    const element = place.current
    if (!element) return undefined
    const made = new uPlot(optionsOf(element, latest), columnsOf(latest.current.data), element)
    chart.current = made
    const resized = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }))
    resized.observe(element)
    const preference = matchMedia('(prefers-color-scheme: dark)')
    const redraw = () => made.redraw(false, true)
    preference.addEventListener('change', redraw)
    return () => {
      resized.disconnect()
      preference.removeEventListener('change', redraw)
      made.destroy()
      chart.current = undefined
    }
  }, [structure])
  useEffect(() => chart.current?.setData(columnsOf(data)), [data, edges.from, edges.to, marks, gaps, thresholds])
  return <div ref={place} class="plot" role="img" aria-label={label} />
}

/** The times, and three columns for each series: the maximum, the minimum and the average. */
function columnsOf({ times, series }: ChartData): uPlot.AlignedData {
  return [times as number[], ...series.flatMap(({ max, min, avg }) => [max, min, avg])] as uPlot.AlignedData
}

type Latest = { readonly current: PlotProps }
/** The present colour of a token. */
type Colour = (token: string) => string

function optionsOf(element: HTMLElement, latest: Latest): uPlot.Options {
  const { lines } = latest.current
  const colour = (token: string) => colourOf(element, token)
  const units = [...new Set(lines.map(({ unit }) => unit))]
  const shared = { stroke: () => colour('--soft'), ticks: { show: false }, font: `12px ${fontOf(element)}` }
  const grid = { stroke: () => colour('--line'), width: 1 }
  return {
    ...{ width: element.clientWidth, height, padding: [10, 8, 0, 0], legend: { show: false } },
    cursor: {
      y: false,
      points: { size: 7 },
      drag: { x: true, y: false, setScale: false },
      bind: {
        dblclick: () => () => {
          latest.current.onBack()
          return null
        },
      },
    },
    axes: [
      {
        ...{ ...shared, grid, space: 76, size: 30 },
        values: (_, splits, __, ___, distance) => splits.map((seconds) => tickText(seconds * 1_000, distance * 1_000)),
      },
      // More than two axes would leave no room for the lines; the values are also in the table.
      ...units.slice(0, 2).map((unit, index): uPlot.Axis => {
        return {
          ...{ ...shared, scale: unit, side: index === 0 ? 3 : 1, grid: index === 0 ? grid : { show: false } },
          ...{ size: axisWidth, values: (_: uPlot, splits: number[]) => splits.map(numberText) },
        }
      }),
    ],
    scales: {
      x: { time: true, range: () => [latest.current.edges.from / 1_000, latest.current.edges.to / 1_000] },
      ...Object.fromEntries(
        units.map((unit, index): [string, uPlot.Scale] => {
          const within = () => (index === 0 ? latest.current.thresholds.map(({ value }) => value) : [])
          return [unit, { range: (_, min, max) => [...axisLimits(min, max, within())] }]
        }),
      ),
    },
    series: [
      {},
      ...lines.flatMap(({ colour: token, unit }, index): uPlot.Series[] => {
        const edge: uPlot.Series = { scale: unit, stroke: 'transparent', width: 0, points: { show: false } }
        const dash = dashes[index % dashes.length] as number[]
        return [edge, edge, { scale: unit, stroke: () => colour(token), width: 1.8, dash, points: { space: 12 } }]
      }),
    ],
    bands: lines.map(({ colour: token }, index) => {
      return { series: [index * 3 + 1, index * 3 + 2], fill: () => translucent(colour(token)) }
    }),
    hooks: {
      setSelect: [(chart) => select(chart, latest)],
      setCursor: [({ cursor }) => latest.current.onPoint(cursor.idx ?? undefined)],
      drawClear: [(chart) => drawGaps(chart, latest.current.gaps, colour('--warning'))],
      draw: [
        (chart) => {
          const { marks, thresholds } = latest.current
          chart.ctx.save()
          for (const mark of marks) drawMark(chart, mark, colour)
          chart.ctx.strokeStyle = colour('--bad')
          chart.ctx.fillStyle = colour('--bad')
          for (const threshold of thresholds) drawThreshold(chart, units[0] ?? '', threshold)
          chart.ctx.restore()
        },
      ],
    },
  }
}

function axisWidth(_: uPlot, labels: readonly string[] | null): number {
  return 18 + 7 * Math.max(2, ...(labels ?? []).map(({ length }) => length))
}

function select(chart: uPlot, latest: Latest): void {
  const { left, width } = chart.select
  if (width === 0) return
  chart.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
  if (width < dragPxMin) return
  const [from, to] = [chart.posToVal(left, 'x') * 1_000, chart.posToVal(left + width, 'x') * 1_000]
  latest.current.onZoom({ from, to })
}

function drawGaps({ ctx, bbox, valToPos }: uPlot, gaps: readonly Edges[], colour: string): void {
  ctx.save()
  ctx.fillStyle = translucent(colour)
  for (const { from, to } of gaps) {
    const left = Math.max(bbox.left, valToPos(from / 1_000, 'x', true))
    const right = Math.min(bbox.left + bbox.width, valToPos(to / 1_000, 'x', true))
    // A gap without length is drawn too.
    if (right > left || from === to) ctx.fillRect(left, bbox.top, Math.max(2, right - left), bbox.height)
  }
  ctx.restore()
}

/** A dotted line with a cross at the top. */
function drawMark({ ctx, bbox, valToPos }: uPlot, { time, isError }: PlotMark, colour: Colour): void {
  const size = 4 * devicePixelRatio
  const top = bbox.top + size
  const x = valToPos(time / 1_000, 'x', true)
  if (x < bbox.left || x > bbox.left + bbox.width) return
  ctx.strokeStyle = colour(isError ? '--bad' : '--soft')
  drawLine(ctx, [x - size, top - size], [x + size, top + size])
  drawLine(ctx, [x + size, top - size], [x - size, top + size])
  drawLine(ctx, [x, top + size], [x, bbox.top + bbox.height], [size / 2, size])
}

function drawThreshold({ root, ctx, bbox, valToPos }: uPlot, scale: string, { value, label }: Threshold): void {
  const y = valToPos(value, scale, true)
  const right = bbox.left + bbox.width
  const isHigh = y < bbox.top + 20 * devicePixelRatio
  ctx.textAlign = 'right'
  ctx.textBaseline = isHigh ? 'top' : 'bottom'
  ctx.font = `${12 * devicePixelRatio}px ${fontOf(root)}`
  drawLine(ctx, [bbox.left, y], [right, y], [6 * devicePixelRatio, 4 * devicePixelRatio])
  ctx.fillText(label, right - 6 * devicePixelRatio, y + (isHigh ? 4 : -4) * devicePixelRatio)
}

type Point = readonly [x: number, y: number]

function drawLine(ctx: CanvasRenderingContext2D, from: Point, to: Point, dash: number[] = []): void {
  ctx.lineWidth = 1.5 * devicePixelRatio
  ctx.setLineDash(dash)
  ctx.beginPath()
  ctx.moveTo(...from)
  ctx.lineTo(...to)
  ctx.stroke()
}

/** `rgb(11, 92, 114)`: the colour of a token in the current theme. */
function colourOf(element: HTMLElement, token: string): string {
  element.style.color = `var(${token})`
  const { color } = getComputedStyle(element)
  element.style.color = ''
  return color
}

function translucent(colour: string): string {
  return colour.replace(/^rgb\((.*)\)$/, 'rgb($1, 16%)')
}

function fontOf(element: HTMLElement): string {
  return getComputedStyle(element).fontFamily
}
