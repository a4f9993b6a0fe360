"""The report page: results files to one self-contained HTML document, and its figures to SVG and PNG files.

view = report_view([load_results("results.json")])     # view_report.py: from records to frozen views
text = render_report(view)                             # page.py: from views to a document
write_plots(view, Path("plots"))                       # plot_files.py: from views to figures as files
"""
